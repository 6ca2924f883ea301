/* What the lab's programs share: arguments and an even pace. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define NS_PER_SEC 1000000000ll
#define NS_PER_MS  1000000ll
#define MEBIBYTE   (1ull << 20)

static inline int64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

static inline void sleep_until(int64_t monotonic)
{
	struct timespec at = {monotonic / NS_PER_SEC, monotonic % NS_PER_SEC};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		continue;
}

/* Uses the CPU for so long (to some microseconds), however long that takes. */
static inline void compute(int64_t cpu_ns)
{
	int64_t end = clock_now(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	while (clock_now(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 5000; i++) /* asking for the time is a system call: not all the time */
			continue;
}

/* As many open files as may be had here. */
static inline void allow_files(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* The number in argument i; leaves with the usage when there is none. */
static inline long number_argument(int argc, char **argv, int i, const char *usage)
{
	char *end;
	long value = i < argc ? strtol(argv[i], &end, 10) : -1;

	if (i < argc && *argv[i] && !*end && value >= 0)
		return value;
	fprintf(stderr, "usage: %s %s\n", argv[0], usage);
	exit(2);
}
