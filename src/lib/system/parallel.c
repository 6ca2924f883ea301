#include "lib/system/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "lib/system/urgent.h"

#define THREADS_MAX 64

struct crew {
	int (*work)(void *data, size_t i);
	void *data;
	size_t n;
	atomic_size_t next;
	atomic_int error;
	pid_t caller;
	int policy; /* the caller's */
};

/* SCHED_OTHER where it is not known. */
static int policy_of(pid_t thread)
{
	int policy = sched_getscheduler(thread);

	return policy < 0 ? SCHED_OTHER : policy & ~SCHED_RESET_ON_FORK;
}

static bool is_real_time(int policy)
{
	return policy == SCHED_RR || policy == SCHED_FIFO;
}

static bool take_next(struct crew *c)
{
	size_t i = atomic_fetch_add(&c->next, 1);
	int r;

	if (i >= c->n || atomic_load(&c->error))
		return false;
	r = c->work(c->data, i);
	if (r < 0)
		atomic_store(&c->error, r);
	return true;
}

/* When its CPU time is used up, the caller alone loses its priority: then there is no hurry left. */
static void *help(void *argument)
{
	struct crew *c = argument;
	bool urgent = is_real_time(c->policy);

	do {
		if (urgent && !is_real_time(policy_of(c->caller)))
			urgent = sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0}) < 0;
	} while (take_next(c));
	return NULL;
}

/* A thread of lower priority would take a part of the work and then wait for a CPU with it, and the caller would wait for that thread. */
static int start_helper(struct crew *c, pthread_t *ret)
{
	pthread_attr_t attributes;
	int r = pthread_attr_init(&attributes);

	if (r != 0)
		return r;
	urgent_threads_too(&attributes);
	r = pthread_create(ret, &attributes, help, c);
	pthread_attr_destroy(&attributes);
	return r;
}

int parallel_run(unsigned threads, size_t n, int (*work)(void *data, size_t i), void *data)
{
	struct crew c = {.work = work, .data = data, .n = n, .caller = gettid(), .policy = policy_of(0)};
	pthread_t ids[THREADS_MAX];
	size_t started = 0;

	if (!threads)
		threads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	if (threads > n)
		threads = (unsigned)n;
	while (started + 1 < threads && started < THREADS_MAX && start_helper(&c, &ids[started]) == 0)
		started++;
	while (take_next(&c))
		;
	for (size_t i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	return atomic_load(&c.error);
}
