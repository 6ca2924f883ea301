#include "lib/system/linger.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/data/clock.h"

#define LINGER_SIGNAL SIGRTMIN

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* linux/include/uapi/asm-generic/socket.h, since 6.16 */
#endif
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static void interrupt(int number)
{
	(void)number;
}

int linger_guard_open(struct linger_guard *ret)
{
	const struct sigaction action = {.sa_handler = interrupt}; /* no SA_RESTART: it is there to interrupt */
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = LINGER_SIGNAL};

	event.sigev_notify_thread_id = gettid();
	if (sigaction(LINGER_SIGNAL, &action, NULL) < 0 || timer_create(CLOCK_MONOTONIC, &event, &ret->timer) < 0)
		return -errno;
	return 0;
}

void linger_guard_close(struct linger_guard *g)
{
	timer_delete(g->timer);
}

static void every(struct linger_guard *g, long ns)
{
	const struct itimerspec when = {.it_interval = {.tv_nsec = ns}, .it_value = {.tv_nsec = ns}};

	timer_settime(g->timer, 0, &when, NULL);
}

void linger_guard_begin(struct linger_guard *g)
{
	every(g, LINGER_MOST * (long)NS_PER_MS);
}

void linger_guard_end(struct linger_guard *g)
{
	every(g, 0);
}

void linger_refuse(int fd)
{
	(void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &(int){0}, sizeof(int));
}
