/* An event loop without work: it waits for none. */
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "story.h"

int main(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int loop = epoll_create1(0), nothing = eventfd(0, 0);

	be("victim", -1);
	epoll_ctl(loop, EPOLL_CTL_ADD, nothing, &event);
	for (int64_t end = now() + SPAN; now() < end;)
		epoll_wait(loop, &event, 1, 100);
	truth("idle", "idle", "", SPAN, SPAN);
	return 0;
}
