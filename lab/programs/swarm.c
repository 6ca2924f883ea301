/* Starts threads by the hundred, each of which wakes up all the time for almost nothing. */
#include <pthread.h>

#include "pace.h"

#define STACK 65536

static int64_t arg_wake;

static void *buzz(void *unused)
{
	(void)unused;
	for (;;) {
		sleep_until(clock_now(CLOCK_MONOTONIC) + arg_wake);
		compute(5000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char usage[] = "THREADS THREADS_A_SECOND WAKE_MILLISECONDS";
	long threads = number_argument(argc, argv, 1, usage), rate = number_argument(argc, argv, 2, usage);
	int64_t next = clock_now(CLOCK_MONOTONIC);
	pthread_attr_t attributes;
	pthread_t thread;

	arg_wake = number_argument(argc, argv, 3, usage) * NS_PER_MS;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	for (long i = 1; i < threads && rate > 0; i++) {
		if (pthread_create(&thread, &attributes, buzz, NULL) != 0)
			break;
		next += NS_PER_SEC / rate;
		sleep_until(next);
	}
	buzz(NULL);
	return 0;
}
