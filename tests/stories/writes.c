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
	free(block);
	close(fd);
	return NULL;
}

#define ROUNDS	   5
#define WRITES_MAX 8192

/* How long writes took, of one thread, without what it then waited for a CPU. */
struct writes {
	int fd;
	void *block;
	int64_t n, took[WRITES_MAX], total;
};

static int shorter(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void small_writes(struct writes *w, int64_t span)
{
	for (int64_t end = now() + span, began; (began = now()) < end && w->n < WRITES_MAX; rest(MS)) {
		int64_t queued = run_delay();

		if (pwrite(w->fd, w->block, 4096, (40 << 20) + (w->n % 64) * 4096) < 0)
			exit(77);
		w->took[w->n] = now() - began - (run_delay() - queued);
		w->total += w->took[w->n++];
	}
}

/* In a thread of its own: what it waited is not the victim's. */
static void *run_alone(void *argument)
{
	be("alone", -1);
	small_writes(argument, SPAN / ROUNDS / 5);
	return NULL;
}

static void write_beside(const char *disk, struct writes *w)
{
	pthread_t big[WORKERS];

	stop = false;
	for (int i = 0; i < WORKERS; i++)
		big[i] = start(run_big, (void *)disk);
	rest(10 * MS);
	small_writes(w, SPAN / ROUNDS);
	stop = true;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(big[i], NULL);
}

/* Others use the machine's disk too, so what a write normally takes is asked again and again in between. */
int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_WRONLY | O_DIRECT | O_DSYNC) : -1;
	void *block = aligned_alloc(4096, 4096);
	static struct writes alone, victim;
	int64_t usual;

	if (fd < 0)
		return 77;
	memset(block, 2, 4096);
	alone.fd = victim.fd = fd;
	alone.block = victim.block = block;
	be("victim", -1);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_join(start(run_alone, &alone), NULL);
		write_beside(argv[1], &victim);
	}
	qsort(alone.took, (size_t)alone.n, sizeof(*alone.took), shorter);
	usual = victim.n * alone.took[alone.n / 2];
	truth("disk", "modelled", "culprit", victim.total, victim.total > usual ? victim.total - usual : 0);
	return 0;
}
