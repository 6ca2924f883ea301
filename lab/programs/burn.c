/* Threads that compute for a share of the time, evenly: a renderer, an encoder. */
#include <pthread.h>

#include "pace.h"

#define PERIOD (50 * NS_PER_MS)

static int64_t arg_work;

static void *work(void *unused)
{
	int64_t next = clock_now(CLOCK_MONOTONIC);

	(void)unused;
	for (;;) {
		compute(arg_work);
		next += PERIOD;
		/* who comes late does not make up for it: a video drops frames */
		if (next < clock_now(CLOCK_MONOTONIC))
			next = clock_now(CLOCK_MONOTONIC);
		sleep_until(next);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char usage[] = "THREADS PERCENT";
	long threads = number_argument(argc, argv, 1, usage);
	pthread_t thread;

	arg_work = PERIOD * number_argument(argc, argv, 2, usage) / 100;
	for (long i = 1; i < threads; i++)
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			return 1;
	work(NULL);
	return 0;
}
