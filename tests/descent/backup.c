/* The culprit on the database's host: it holds the lock of the database's file while it rewrites a table in memory, lets it go for a
 * moment, and takes it again. backup FILE SECONDS */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define HOLD 0.15 /* s: long compared with the 5 ms of a query */
#define REST 0.03 /* s: some queries pass in between */
#define ROWS 50000

static uint32_t table[ROWS];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void rewrite_table(double span)
{
	for (double end = now() + span; now() < end;)
		for (unsigned i = 0; i < 20 * ROWS; i++)
			table[i % ROWS] = table[(i * 2654435761u) % ROWS] * 1664525u + i;
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	double end = argc == 3 ? now() + atof(argv[2]) : 0;

	if (fd < 0)
		return 2;
	while (now() < end) {
		if (flock(fd, LOCK_EX) < 0)
			return 1;
		rewrite_table(HOLD);
		flock(fd, LOCK_UN);
		usleep((useconds_t)(REST * 1e6));
	}
	printf("%u\n", table[0]);
	return 0;
}
