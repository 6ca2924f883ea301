/* One sweep against /proc: sweep [ROUNDS]
 *
 * In turn, of the same processes in the same run: one sample of the task source (a pass of the BPF iterator over all
 * tasks, summed by process in user space, exits counted), and /proc/PID/{stat,status,io,schedstat} opened, read and
 * closed for each process that the sample found. A second lies between two rounds, as between two ticks of the recorder:
 * caches are as cold, and as many processes have done something. Prints the medians: ns a process by the sweep, ns a process by
 * /proc, and the median of the rounds' ratios. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/source.h"

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

static void read_proc(const struct tick *tick)
{
	static const char *const files[] = {"stat", "status", "io", "schedstat"};

	for (size_t i = 0; i < tick->samples.n; i++)
		for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++)
			(void)read_and_close(tick->samples.v[i].entity->info.pid, files[f]);
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
	size_t rounds = argc > 1 ? (size_t)atoi(argv[1]) : ROUNDS_DEFAULT;
	struct source_options options = {.proc_root = "/proc", .sys_root = "/sys", .sockets = true};
	double *swept = calloc(rounds, sizeof(*swept)), *read = calloc(rounds, sizeof(*read));
	double *ratio = calloc(rounds, sizeof(*ratio));
	const char *why = "no memory";
	struct tick tick = {};
	void *state;

	if (!rounds || !swept || !read || !ratio || source_task.open(&options, &state, &why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	for (size_t i = 0; i < rounds; i++) {
		int64_t before, between, after;

		sleep(1);
		tick_begin(&tick, boot_now(), wall_now());
		before = boot_now();
		source_task.sample(state, &tick);
		between = boot_now();
		read_proc(&tick);
		after = boot_now();
		swept[i] = (double)(between - before) / (double)tick.samples.n;
		read[i] = (double)(after - between) / (double)tick.samples.n;
		ratio[i] = read[i] / swept[i];
	}
	printf("%.0f %.0f %.1f\n", median(swept, rounds), median(read, rounds), median(ratio, rounds));
	source_task.close(state);
	tick_free(&tick);
	free(swept);
	free(read);
	free(ratio);
	return 0;
}
