#include "machine/recorder/tick-guard.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "lib/data/str.h"
#include "lib/system/urgent.h"

#define LATE_TICKS     3
#define AGAIN	       (100 * NS_PER_MS) /* all threads of a machine that stood still are late: who runs now needs no help */
#define BLOCKED_AFTER  (200 * NS_PER_MS) /* a tick takes a few milliseconds */
#define THREADS_RAISED NS_PER_SEC	 /* at most: they may have seconds of work, which questions would wait for */
#define THREADS_PAUSE  (5 * NS_PER_SEC)
#define RAISED_FOR     (60 * NS_PER_SEC)

/* The next step of the process that waits, while no tick comes. */
enum step { CONFIRM_LATE, RAISE_SAMPLER, RAISE_THREADS, LOWER_THREADS };

/* In memory that both processes have. */
struct shared {
	_Atomic int64_t due; /* monotonic ns: without a tick until then the sampler is late */
	atomic_bool threads_raised;
};

struct tick_guard {
	int fd; /* timer; both processes have it */
	struct shared *shared;
	int64_t raised; /* the sampler's: monotonic ns when it first ticked at URGENT_PRIORITY; 0 = it does not */
	int64_t due;	/* the other's: the tick that it waits for */
	enum step step; /* the other's */
};

static void set_timer(const struct tick_guard *g, int64_t ns)
{
	const struct itimerspec when = {.it_value = {ns / NS_PER_SEC, ns % NS_PER_SEC}};

	(void)timerfd_settime(g->fd, 0, &when, NULL);
}

static int set_policy(pid_t thread, int policy, int priority)
{
	return sched_setscheduler(thread, policy | SCHED_RESET_ON_FORK, &(struct sched_param){.sched_priority = priority});
}

static bool has_policy(pid_t thread, int policy, int priority)
{
	struct sched_param param = {};

	return (sched_getscheduler(thread) & ~SCHED_RESET_ON_FORK) == policy && sched_getparam(thread, &param) == 0 &&
	       param.sched_priority == priority;
}

/* Threads of the sampler's process from the normal priority to URGENT_PRIORITY, or back. Urgent sections are SCHED_RR: not touched. */
static void set_threads(pid_t sampler, bool urgent)
{
	FOLDER_EACH(e, opendir(STR_TEXT(64, "/proc/%d/task", sampler))) {
		pid_t thread = (pid_t)strtol(e.name, NULL, 10);

		if (thread <= 0 || thread == sampler)
			continue;
		if (urgent && has_policy(thread, SCHED_OTHER, 0))
			(void)set_policy(thread, SCHED_FIFO, URGENT_PRIORITY);
		else if (!urgent && has_policy(thread, SCHED_FIFO, URGENT_PRIORITY))
			(void)set_policy(thread, SCHED_OTHER, 0);
	}
}

int tick_guard_new(struct tick_guard **ret)
{
	struct tick_guard *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	g->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r = g->fd < 0 ? -errno : 0;
	g->shared = mmap(NULL, sizeof(*g->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r == 0 && g->shared == MAP_FAILED)
		r = -errno;
	if (r < 0) {
		tick_guard_free(g);
		return r;
	}
	*ret = g;
	return 0;
}

void tick_guard_free(struct tick_guard *g)
{
	if (!g)
		return;
	cleanup_fd(&g->fd);
	if (g->shared != MAP_FAILED)
		munmap(g->shared, sizeof(*g->shared));
	free(g);
}

/* The programs that took the CPUs may have ended: the sampler tries its own priority again. */
static void fall_back(struct tick_guard *g)
{
	int64_t now = clock_monotonic();

	if (!has_policy(0, SCHED_FIFO, URGENT_PRIORITY))
		return;
	if (!g->raised)
		g->raised = now;
	if (now - g->raised < RAISED_FOR)
		return;
	g->raised = 0;
	(void)set_policy(0, SCHED_FIFO, SAMPLER_PRIORITY);
}

void tick_guard_renew(struct tick_guard *g, int64_t interval)
{
	if (!g)
		return;
	atomic_store(&g->shared->due, clock_monotonic() + LATE_TICKS * interval);
	set_timer(g, LATE_TICKS * interval);
	if (atomic_exchange(&g->shared->threads_raised, false))
		set_threads(gettid(), false);
	fall_back(g);
}

int tick_guard_fd(const struct tick_guard *g)
{
	return g ? g->fd : -1;
}

/* The flag is set last: a tick that comes while threads are raised may have lowered too few of them, and the next one lowers the rest. */
static void raise_threads(struct tick_guard *g, pid_t sampler)
{
	set_threads(sampler, true);
	atomic_store(&g->shared->threads_raised, true);
}

/* Returns ns until the next step. */
static int64_t take_step(struct tick_guard *g, pid_t sampler)
{
	switch (g->step) {
	case CONFIRM_LATE:
		g->step = RAISE_SAMPLER;
		return AGAIN;
	case RAISE_SAMPLER:
		(void)set_policy(sampler, SCHED_FIFO, URGENT_PRIORITY);
		g->step = RAISE_THREADS;
		return BLOCKED_AFTER;
	case RAISE_THREADS:
		raise_threads(g, sampler);
		g->step = LOWER_THREADS;
		return THREADS_RAISED;
	case LOWER_THREADS:
		set_threads(sampler, false);
		g->step = RAISE_THREADS;
		return THREADS_PAUSE;
	}
	return THREADS_PAUSE;
}

void tick_guard_act(struct tick_guard *g, pid_t sampler)
{
	int64_t now = clock_monotonic(), due;
	uint64_t ended;

	if (read(g->fd, &ended, sizeof(ended)) != sizeof(ended))
		return; /* set again in the meantime */
	due = atomic_load(&g->shared->due);
	if (due != g->due)
		g->step = CONFIRM_LATE;
	g->due = due;
	set_timer(g, now < due ? due - now : take_step(g, sampler));
}
