#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define THREADS_MAX 64

struct crew {
	int (*work)(void *data, size_t i);
	void *data;
	size_t n;
	atomic_size_t next;
	atomic_int error;
};

static void *take_turns(void *argument)
{
	struct crew *c = argument;

	for (;;) {
		size_t i = atomic_fetch_add(&c->next, 1);
		int r;

		if (i >= c->n || atomic_load(&c->error))
			return NULL;
		r = c->work(c->data, i);
		if (r < 0)
			atomic_store(&c->error, r);
	}
}

int work_in_parallel(unsigned threads, size_t n, int (*work)(void *data, size_t i), void *data)
{
	struct crew c = {.work = work, .data = data, .n = n};
	pthread_t ids[THREADS_MAX];
	size_t started = 0;

	if (!threads)
		threads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	if (threads > n)
		threads = (unsigned)n;
	while (started + 1 < threads && started < THREADS_MAX && pthread_create(&ids[started], NULL, take_turns, &c) == 0)
		started++;
	take_turns(&c);
	for (size_t i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	return atomic_load(&c.error);
}
