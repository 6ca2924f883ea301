#include "lib/system/time-limit.h"

#include <errno.h>
#include <signal.h>

#include "lib/data/clock.h"

void time_limit_begin_again(timer_t limit, int64_t ns)
{
	const struct itimerspec end = {.it_value = {ns / NS_PER_SEC, ns % NS_PER_SEC}};

	(void)timer_settime(limit, 0, &end, NULL);
}

int time_limit_begin(int64_t ns, timer_t *ret)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};

	if (timer_create(CLOCK_MONOTONIC, &event, ret) < 0)
		return -errno;
	time_limit_begin_again(*ret, ns);
	return 0;
}
