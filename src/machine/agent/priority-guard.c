#include "machine/agent/priority-guard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/file.h"
#include "lib/data/str.h"

#define PATIENCE 50  /* ms */
#define STEP	 10  /* ms between two looks at whether it was read */
#define AGAIN	 250 /* ms: what is left unread is looked at again */

struct priority_guard {
	pthread_t thread;
	pid_t guarded;
	clockid_t cpu_time; /* of the guarded thread */
	int fd, stop;	    /* stop: an eventfd */
	atomic_bool acted;
};

static int64_t cpu_time_of(const struct priority_guard *g)
{
	struct timespec t;

	return clock_gettime(g->cpu_time, &t) < 0 ? -1 : t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

/* A thread that waits for something else does not starve. */
static bool is_ready_to_run(const struct priority_guard *g)
{
	char line[256], *state;

	if (!file_first_line(STR_TEXT(64, "/proc/self/task/%d/stat", g->guarded), line, sizeof(line)))
		return false;
	state = strrchr(line, ')');
	return state && state[1] == ' ' && state[2] == 'R';
}

/* Until something of `events` can be done with `fd`, or for `ms`. Whether the guard is to stop. */
static bool wait_for(const struct priority_guard *g, short events, int ms, bool *ret_readable)
{
	struct pollfd fds[] = {{g->stop, POLLIN, 0}, {g->fd, events, 0}};
	int n = poll(fds, ARRAY_SIZE(fds), ms);

	*ret_readable = n > 0 && (fds[1].revents & POLLIN);
	return (n < 0 && errno != EINTR) || (n > 0 && (fds[0].revents || (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))));
}

/* Readable all the time, and no CPU in all that time. */
static bool is_starved(const struct priority_guard *g)
{
	int64_t before = cpu_time_of(g);

	for (int waited = 0; waited < PATIENCE; waited += STEP) {
		struct pollfd fd = {g->fd, POLLIN, 0};

		usleep(STEP * 1000);
		if (poll(&fd, 1, 0) != 1 || cpu_time_of(g) != before || !is_ready_to_run(g))
			return false;
	}
	return true;
}

static void *watch(void *data)
{
	struct priority_guard *g = data;
	bool readable;

	while (!wait_for(g, POLLIN, -1, &readable)) {
		if (!readable)
			continue;
		if (is_starved(g) && sched_setscheduler(g->guarded, SCHED_OTHER, &(struct sched_param){0}) == 0)
			atomic_store(&g->acted, true);
		if (wait_for(g, 0, AGAIN, &readable))
			break;
	}
	return NULL;
}

/* Signals are the other threads'; the priority is the normal one. */
static int start_thread(struct priority_guard *g)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int r = pthread_attr_init(&attr);

	if (r != 0)
		return -r;
	(void)pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED); /* SCHED_OTHER, by default */
	(void)pthread_attr_setstacksize(&attr, 64 << 10);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&g->thread, &attr, watch, g);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

int priority_guard_start(int fd, struct priority_guard **ret)
{
	struct priority_guard *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	g->fd = fd;
	g->guarded = gettid();
	g->stop = eventfd(0, EFD_CLOEXEC);
	r = g->stop < 0 ? -errno : -pthread_getcpuclockid(pthread_self(), &g->cpu_time);
	r = r ?: start_thread(g);
	if (r < 0) {
		cleanup_fd(&g->stop);
		free(g);
		return r;
	}
	*ret = g;
	return 0;
}

bool priority_guard_acted(struct priority_guard *g)
{
	return g && atomic_exchange(&g->acted, false);
}

void priority_guard_stop(struct priority_guard *g)
{
	const uint64_t one = 1;

	if (!g)
		return;
	(void)!write(g->stop, &one, sizeof(one));
	pthread_join(g->thread, NULL);
	cleanup_fd(&g->stop);
	free(g);
}
