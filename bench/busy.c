/* One process whose work is seen by every tool, and differs from second to second: busy SECONDS FILE
 *
 * Ten times a second it computes, touches fresh memory, and appends to FILE. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define STEPS_PER_SECOND 10
#define PAGE		 4096
#define PAGES_MAX	 256

static char block[PAGES_MAX * PAGE];

static long long cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void compute(long long ns)
{
	long long until = cpu_time() + ns;

	while (cpu_time() < until)
		;
}

static int touch(size_t pages)
{
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -1;
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
	memset(memory, 1, pages * PAGE);
	return munmap(memory, pages * PAGE);
}

int main(int argc, char **argv)
{
	struct timespec step = {0, 1000000000 / STEPS_PER_SECOND / 2};
	int seconds = argc > 2 ? atoi(argv[1]) : 0, file;

	if (!seconds) {
		fprintf(stderr, "usage: busy SECONDS FILE\n");
		return 2;
	}
	prctl(PR_SET_NAME, "busy");
	file = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	for (int i = 0; i < seconds * STEPS_PER_SECOND; i++) {
		size_t pages = 16u << (i / STEPS_PER_SECOND % 5);

		compute(10000000 + 10000000 * (i / STEPS_PER_SECOND % 4));
		if (touch(pages) < 0 || write(file, block, pages * PAGE) < 0) {
			perror("busy");
			return 1;
		}
		nanosleep(&step, NULL);
	}
	return 0;
}
