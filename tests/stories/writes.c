/* Small synchronous writes to a disk that another process keeps busy with big ones. $1 = the disk. */
#include "story.h"

#define BIG    (1 << 20)
#define WORKERS 8

static volatile bool stop;

static void *run_big(void *argument)
{
	int fd = open(argument, O_WRONLY | O_DIRECT);
	void *block = aligned_alloc(4096, BIG);
	off_t at = 0;

	be("culprit", -1);
	memset(block, 1, BIG);
	while (!stop && fd >= 0) {
		if (pwrite(fd, block, BIG, (at++ % 32) * BIG) < 0)
			break;
	}
	return NULL;
}

#define WRITES_MAX 4096

static int64_t took[WRITES_MAX];

static int shorter(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Small writes for so long: how many; how long each `took`, the shortest first. */
static int64_t small_writes(int fd, void *block, int64_t span, int64_t *ret_total)
{
	int64_t end = now() + span, n = 0;

	*ret_total = 0;
	while (now() < end && n < WRITES_MAX) {
		int64_t began = now();

		if (pwrite(fd, block, 4096, (40 << 20) + (n % 64) * 4096) < 0)
			exit(77);
		took[n] = now() - began;
		*ret_total += took[n++];
		rest(MS);
	}
	qsort(took, n, sizeof(*took), shorter);
	return n;
}

/* Others use the machine's disk too: what a write usually takes. */
static void *run_alone(void *argument)
{
	void *block = aligned_alloc(4096, 4096);
	int64_t total, *usual = argument;

	memset(block, 3, 4096);
	be("alone", -1);
	*usual = took[small_writes((int)*usual, block, 300 * MS, &total) / 2];
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_WRONLY | O_DIRECT | O_DSYNC) : -1;
	void *block = aligned_alloc(4096, 4096);
	int64_t alone = fd, writes, total;
	pthread_t big[WORKERS];

	if (fd < 0)
		return 77;
	memset(block, 2, 4096);
	pthread_join(start(run_alone, &alone), NULL); /* a thread of its own: what it waited is not the victim's */
	be("victim", -1);
	for (int i = 0; i < WORKERS; i++)
		big[i] = start(run_big, argv[1]);
	rest(50 * MS);
	writes = small_writes(fd, block, SPAN, &total);
	stop = true;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(big[i], NULL);
	truth("disk", "modelled", "culprit", total, total - alone * writes);
	return 0;
}
