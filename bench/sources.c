/* The cost of the sources of the machine's own counters: sources [SAMPLES [PAUSE_MS [GROUPS]]]
 *
 * Samples them as the recorder does, each at its own interval, and prints CPU time a tick: with a pause between
 * samples caches are as cold as a recorder finds them. GROUPS control groups are made for the time of the run, each
 * with nothing in it (root only). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/sample/source.h"

#define SOURCES_MAX 32

static const char *const trees[] = {"unified", "cpuacct", "cpu", "memory"};

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void each_group(int n, int (*do_it)(const char *path, mode_t mode))
{
	bool unified = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;

	for (int i = 0; i < n; i++)
		for (size_t t = 0; t < (unified ? 1 : ARRAY_SIZE(trees)); t++) {
			char path[128];

			snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/whyslow-bench-%d", unified ? "" : trees[t], i);
			(void)do_it(path, 0755);
		}
}

static int remove_group(const char *path, mode_t mode)
{
	(void)mode;
	return rmdir(path);
}

static void sample_all(void *const *states, uint64_t tick_number, struct tick *tick, double *cost, double *worst)
{
	double all = 0;

	tick_begin(tick, clock_boot(), clock_wall());
	for (size_t i = 0; system_sources[i]; i++) {
		unsigned every = system_sources[i]->every ? system_sources[i]->every : 1;
		double before = cpu_now(), spent;

		if (!states[i] || tick_number % every)
			continue;
		system_sources[i]->sample(states[i], tick);
		spent = cpu_now() - before;
		cost[i] += spent;
		all += spent;
	}
	if (tick_number && all > *worst)
		*worst = all;
}

int main(int argc, char **argv)
{
	struct source_options options = {.proc_root = "/proc", .sys_root = "/sys"};
	int samples = argc > 1 ? atoi(argv[1]) : 1000, pause_ms = argc > 2 ? atoi(argv[2]) : 0;
	int groups = argc > 3 ? atoi(argv[3]) : 0;
	void *states[SOURCES_MAX] = {};
	double cost[SOURCES_MAX] = {}, sum = 0, worst = 0;
	struct tick tick = {};

	each_group(groups, mkdir);
	for (size_t i = 0; system_sources[i]; i++) {
		const char *why = NULL;

		if (system_sources[i]->open(&options, &states[i], &why) < 0)
			states[i] = NULL;
	}
	for (int n = 0; n < samples; n++) {
		sample_all(states, (uint64_t)n, &tick, cost, &worst);
		usleep((useconds_t)pause_ms * 1000);
	}
	for (size_t i = 0; system_sources[i]; i++) {
		if (states[i])
			printf("%-12s %8.2f us a tick\n", system_sources[i]->name, cost[i] / samples);
		else
			printf("%-12s not on this machine\n", system_sources[i]->name);
		sum += cost[i];
		if (states[i])
			system_sources[i]->close(states[i]);
	}
	printf("%-12s %8.2f us a tick, at most %.0f us; %zu entities\n", "all", sum / samples, worst, tick.samples.n);
	tick_free(&tick);
	each_group(groups, remove_group);
	return 0;
}
