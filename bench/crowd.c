/* The cost of a question where thousands of threads wake one another: crowd KIND [EVENTS [THREADS [FILE]]], KIND being mesh, herd, line
 * or pool (machine/blame/test-crowd.h). With FILE it writes the trace there; else it asks who made whom wait, as 'why' does, and
 * prints "events cpu_seconds peak_mib charges". */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/blame/test-crowd.h"
#include "machine/judge/charges.h"
#include "machine/trace/trace-file.h"

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Making the trace takes more than asking: the peak is reset before the question. */
static void forget_peak(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/clear_refs", "we");

	if (f)
		fputs("5", f);
}

static long peak_mib(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "VmHWM: %ld", &kib) != 1)
		continue;
	return kib / 1024;
}

/* A tick a second, and each process of the trace. */
static int record(const struct trace *t, uint32_t threads, struct dataset *d)
{
	uint32_t id = 0;

	for (int64_t at = NS_PER_SEC; at <= (int64_t)t->to + NS_PER_SEC; at += NS_PER_SEC)
		if (dataset_add_tick(d, at, at, NS_PER_SEC) < 0)
			return -ENOMEM;
	for (uint32_t i = 0; i < threads; i += CROWD_FAMILY) {
		char name[32];
		struct entity_info info = {.id = ++id, .kind = ENTITY_PROCESS, .pid = CROWD_FIRST + i, .name = name, .exe = name};
		struct subject *s;

		snprintf(name, sizeof(name), "crowd%u", i / 100);
		s = dataset_define(d, &info);
		if (!s)
			return -ENOMEM;
		s->last = (uint32_t)d->ticks.n - 1;
	}
	return 0;
}

static int ask(const struct trace *t, uint32_t threads)
{
	_cleanup_(charges_free) struct charges charges = {};
	struct dataset d = {};
	double began = cpu_seconds();
	int r = record(t, threads, &d);

	forget_peak();
	r = r ?: charges_of_trace(t, &d, 0, (uint32_t)d.ticks.n - 1, &charges);
	if (r == 0)
		printf("%zu %.3f %ld %zu\n", t->n_events, cpu_seconds() - began, peak_mib(), charges.list.n);
	dataset_free(&d);
	return r;
}

static int write_to(const struct trace *t, const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : trace_write(t, fd);
}

int main(int argc, char **argv)
{
	size_t events = argc > 2 ? strtoul(argv[2], NULL, 10) : 2000000;
	uint32_t threads = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 5000;
	struct trace t = {};
	int kind = 0, r;

	while (argc > 1 && kind < CROWD_KINDS && strcmp(crowd_names[kind], argv[1]) != 0)
		kind++;
	if (argc < 2 || kind == CROWD_KINDS || threads < CROWD_CPUS + 1) {
		fputs("crowd mesh|herd|line|pool [EVENTS [THREADS [FILE]]]\n", stderr);
		return 2;
	}
	r = crowd_play(&t, (enum crowd_kind)kind, threads, events);
	r = r ?: argc > 4 ? write_to(&t, argv[4]) : ask(&t, threads);
	if (r < 0)
		fprintf(stderr, "crowd: %s\n", strerror(-r));
	trace_clear(&t);
	return r < 0;
}
