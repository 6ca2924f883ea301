/* One sweep against /proc: sweep [--ring] [ROUNDS]
 *
 * In turn, of the same processes in the same run: one sample of the task source (a pass of the BPF iterator over all
 * tasks, summed by process in user space, exits counted), and /proc/PID/{stat,status,io,schedstat} opened, read and
 * closed for each process. A second lies between two rounds, as between two ticks of the recorder:
 * caches are as cold, and as many processes have done something. With --ring next to the flight recorder, as by default. Prints the medians: ns a process by the sweep, ns a process by
 * /proc, and the median of the rounds' ratios. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "lib/data/vec.h"
#include "machine/chunk/frame.h"
#include "machine/flight/ring.h"
#include "machine/sample/source.h"

#define ROUNDS_DEFAULT 41

static int read_and_close(unsigned pid, const char *name)
{
	char path[64], text[8192];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text));
	close(fd);
	return n < 0 ? -errno : 0;
}

struct pids {
	VEC(unsigned) v;
};

/* Not timed. */
static void list(struct pids *pids)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	pids->v.n = 0;
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			(void)VEC_PUSH(pids->v, (unsigned)atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

static int64_t read_proc(const struct pids *pids)
{
	static const char *const files[] = {"stat", "status", "io", "schedstat"};
	int64_t before = clock_boot();

	for (size_t i = 0; i < pids->v.n; i++)
		for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++)
			(void)read_and_close(pids->v.v[i], files[f]);
	return clock_boot() - before;
}

/* As the recorder does it: what was read is encoded, and those who sleep on are left out. */
static int64_t sweep(void *state, struct tick *tick, struct frame_encoder *encoder, struct str *frame)
{
	bool first = !encoder->segment;
	int64_t before, took;

	tick_begin(tick, clock_boot(), clock_wall());
	tick->brief = !first;
	before = clock_boot();
	source_task.sample(state, tick);
	took = clock_boot() - before;
	str_clear(frame);
	(void)frame_encode(encoder, tick, first, frame);
	return took;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

int main(int argc, char **argv)
{
	bool beside_ring = argc > 1 && strcmp(argv[1], "--ring") == 0;
	size_t rounds = argc > 1 + beside_ring ? (size_t)atoi(argv[1 + beside_ring]) : ROUNDS_DEFAULT;
	const struct ring_options ring_options = {.stacks = true};
	struct ring *ring = NULL;
	struct source_options options = {.proc_root = "/proc", .sys_root = "/sys", .sockets = true};
	double *swept = calloc(rounds, sizeof(*swept)), *read = calloc(rounds, sizeof(*read));
	double *ratio = calloc(rounds, sizeof(*ratio));
	const char *why = "no memory";
	struct frame_encoder encoder = {.next_id = 1};
	struct str frame = {};
	struct pids pids = {};
	struct tick tick = {};
	void *state;

	if (beside_ring && ring_open(&ring_options, &ring, &why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	options.ring = ring;
	if (!rounds || !swept || !read || !ratio || source_task.open(&options, &state, &why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	(void)sweep(state, &tick, &encoder, &frame);
	for (size_t i = 0; i < rounds; i++) {
		sleep(1);
		swept[i] = (double)sweep(state, &tick, &encoder, &frame);
		list(&pids);
		read[i] = (double)read_proc(&pids) / (double)pids.v.n;
		swept[i] /= (double)pids.v.n;
		ratio[i] = read[i] / swept[i];
	}
	printf("%.0f %.0f %.1f\n", median(swept, rounds), median(read, rounds), median(ratio, rounds));
	source_task.close(state);
	ring_close(ring);
	tick_free(&tick);
	str_free(&frame);
	VEC_FREE(pids.v);
	free(swept);
	free(read);
	free(ratio);
	return 0;
}
