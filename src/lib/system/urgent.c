#include "lib/system/urgent.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "lib/data/clock.h"

#define BUDGET_SIGNAL (SIGRTMIN + 1)

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

int urgent_set_inherited(void)
{
	const struct sched_param param = {.sched_priority = URGENT_PRIORITY};

	return sched_setscheduler(0, SCHED_RR, &param) < 0 ? -errno : 0;
}

int urgent_set(bool urgent)
{
	/* to take back SCHED_RESET_ON_FORK would need rights, which an answer may have given up in the meantime */
	const struct sched_param param = {.sched_priority = urgent ? URGENT_PRIORITY : 0};

	return sched_setscheduler(0, (urgent ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK, &param) < 0 ? -errno : 0;
}

bool urgent_is(void)
{
	return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

void urgent_reserve_files(int n)
{
	int ends[2], last;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	last = fcntl(ends[0], F_DUPFD_CLOEXEC, n - 1);
	if (last >= 0)
		close(last);
	close(ends[0]);
	close(ends[1]);
}

void urgent_threads_too(pthread_attr_t *attributes)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	struct sched_param param;

	if ((policy != SCHED_RR && policy != SCHED_FIFO) || sched_getparam(0, &param) < 0)
		return;
	(void)pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED);
	(void)pthread_attr_setschedpolicy(attributes, policy);
	(void)pthread_attr_setschedparam(attributes, &param);
}

/* For the calling thread. At a fixed place of its memory: what a library has for each thread is otherwise allocated when it is first used, and
 * the signal's handler may interrupt malloc(), which then waits for itself. */
static _Thread_local volatile sig_atomic_t in_section __attribute__((tls_model("initial-exec"))), budget_ended __attribute__((tls_model("initial-exec")));

struct urgent_section urgent_section_begin(void)
{
	struct urgent_section s = {.policy = sched_getscheduler(0)};
	struct sched_param param;

	if (s.policy < 0 || sched_getparam(0, &param) < 0)
		return s;
	s.priority = param.sched_priority;
	in_section = 1;
	s.raised = s.priority < URGENT_PRIORITY && urgent_set(true) == 0;
	return s;
}

void urgent_section_end(const struct urgent_section *s)
{
	const struct sched_param param = {.sched_priority = s->priority};

	in_section = 0;
	if (budget_ended)
		(void)urgent_set(false);
	else if (s->raised)
		(void)sched_setscheduler(0, s->policy, &param);
	budget_ended = 0;
}

static void end_urgency(int number)
{
	int error = errno;

	(void)number;
	if (in_section)
		budget_ended = 1;
	else
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

bool urgent_budget_is_left(const struct urgent_budget *b)
{
	struct itimerspec left;

	return timer_gettime(b->timer, &left) == 0 && (left.it_value.tv_sec || left.it_value.tv_nsec);
}

void urgent_budget_close(struct urgent_budget *b)
{
	timer_delete(b->timer);
}

int urgent_for(int64_t ns)
{
	struct urgent_budget budget;
	int r = urgent_budget_open(&budget, CLOCK_PROCESS_CPUTIME_ID);

	if (r < 0)
		return r;
	urgent_budget_set(&budget, ns);
	return urgent_set(true);
}
