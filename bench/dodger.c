/* Works between the timer's interrupts and sleeps through each: nearly all of a CPU, and next to nothing by tick-sampled
 * counters. dodger [SECONDS] */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_SEC 1000000000ll
#define BEFORE	   400000 /* ns: stops so long before an interrupt ... */
#define AFTER	   100000 /* ... and continues so long after it */

static int64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	int64_t end = now(CLOCK_MONOTONIC) + (int64_t)((argc > 1 ? atof(argv[1]) : 10) * 1e9);
	struct timespec resolution;

	/* the coarse clock stands still between two interrupts: it tells when the last one was */
	clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
	while (now(CLOCK_MONOTONIC) < end) {
		int64_t next = now(CLOCK_MONOTONIC_COARSE);
		struct timespec wake;

		while (next < now(CLOCK_MONOTONIC) + BEFORE)
			next += resolution.tv_nsec;
		wake = (struct timespec){(next + AFTER) / NS_PER_SEC, (next + AFTER) % NS_PER_SEC};
		while (now(CLOCK_MONOTONIC) < next - BEFORE)
			continue;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
	}
	return 0;
}
