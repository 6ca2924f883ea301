/* A big service at rest: many threads that wake up now and then, many open files, much memory that it visits slowly. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "pace.h"

#define PAGE	 4096
#define ROUND	 60 /* seconds for one visit of all memory */
#define STACK	 65536

static int64_t wakes_every = NS_PER_SEC;

static void *wait_for_work(void *unused)
{
	int64_t next = clock_now(CLOCK_MONOTONIC) + random() % wakes_every;

	(void)unused;
	for (;;) {
		sleep_until(next);
		compute(20000);
		next += wakes_every;
	}
	return NULL;
}

static int start_threads(long n)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	for (long i = 1; i < n; i++)
		if (pthread_create(&thread, &attributes, wait_for_work, NULL) != 0)
			return -1;
	return 0;
}

static int open_files(long n)
{
	allow_files();
	for (long i = 0; i < n; i++)
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			return -1;
	return 0;
}

static void visit_memory(char *memory, size_t size)
{
	size_t step = size / (ROUND * 10) / PAGE * PAGE + PAGE, at = 0;
	int64_t next = clock_now(CLOCK_MONOTONIC);

	for (;;) {
		for (size_t end = at + step; at < end && at < size; at += PAGE)
			memory[at]++;
		if (at >= size)
			at = 0;
		next += NS_PER_SEC / 10;
		sleep_until(next);
	}
}

int main(int argc, char **argv)
{
	static const char usage[] = "THREADS FILES MEGABYTES [SECONDS_BETWEEN_WAKES]";
	long threads = number_argument(argc, argv, 1, usage), files = number_argument(argc, argv, 2, usage);
	size_t size = (size_t)number_argument(argc, argv, 3, usage) * MEBIBYTE;
	char *memory = malloc(size);

	if (argc > 4)
		wakes_every = number_argument(argc, argv, 4, usage) * NS_PER_SEC;
	if (!memory || start_threads(threads) < 0 || open_files(files) < 0) {
		perror(argv[0]);
		return 1;
	}
	memset(memory, 1, size);
	visit_memory(memory, size);
	return 0;
}
