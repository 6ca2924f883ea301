#include "daemon/urgent.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"

#define BUDGET_SIGNAL (SIGRTMIN + 1)

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

int urgent_set(bool urgent)
{
	/* to take back SCHED_RESET_ON_FORK would need rights, which an answer may have given up in the meantime */
	const struct sched_param param = {.sched_priority = urgent ? URGENT_PRIORITY : 0};

	return sched_setscheduler(0, (urgent ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK, &param) < 0 ? -errno : 0;
}

static void end_urgency(int number)
{
	int error = errno;

	(void)number;
	(void)urgent_set(false);
	errno = error;
}

int urgent_budget_open(struct urgent_budget *ret, clockid_t clock)
{
	const struct sigaction action = {.sa_handler = end_urgency, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = BUDGET_SIGNAL};

	event.sigev_notify_thread_id = gettid();
	if (sigaction(BUDGET_SIGNAL, &action, NULL) < 0 || timer_create(clock, &event, &ret->timer) < 0)
		return -errno;
	return 0;
}

void urgent_budget_set(struct urgent_budget *b, int64_t ns)
{
	const struct itimerspec when = {.it_value = {ns / NS_PER_SEC, ns % NS_PER_SEC}};

	timer_settime(b->timer, 0, &when, NULL);
}

void urgent_budget_close(struct urgent_budget *b)
{
	timer_delete(b->timer);
}
