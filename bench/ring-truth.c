/* The flight recorder's sums next to the kernel's own accounts: ring-truth [SECONDS] [-v]
 *
 * Threads that lived through all of it. On-CPU time against sum_exec_runtime, within max(0.1 %, 0.5 us a switch); time
 * runnable, quota apart, against run_delay, within max(1 %, 0.5 us a switch); waits for disks against delay accounting, within
 * 2 % (kernel.task_delayacct must be on). Prints how many agree, the worst, and the sums of all; then how busy all CPUs were,
 * and what was not seen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "machine/flight/ring.h"

static bool verbose;

struct reading {
	VEC(struct ring_task) tasks;
};

static void take(const struct ring_task *task, void *data)
{
	struct reading *r = data;

	(void)VEC_PUSH(r->tasks, *task);
}

struct account {
	const char *name;
	double ours, kernels, worst;
	size_t agree, differ;
	char who[64];
};

static void compare(struct account *a, const struct ring_task *t, double ours, double kernels, double part, double slack)
{
	double off = fabs(ours - kernels);

	a->ours += ours;
	a->kernels += kernels;
	if (off <= fmax(part * kernels, slack)) {
		a->agree++;
		return;
	}
	a->differ++;
	if (verbose)
		printf("  %s: %s (%u): %.1f us, kernel %.1f us, slack %.1f us\n", a->name, t->who.comm, t->who.tid, ours / 1e3,
		       kernels / 1e3, fmax(part * kernels, slack) / 1e3);
	if (off <= a->worst)
		return;
	a->worst = off;
	snprintf(a->who, sizeof(a->who), "%s (%u): %.0f us, kernel %.0f us", t->who.comm, t->who.tid, ours / 1e3, kernels / 1e3);
}

static void print(const struct account *a)
{
	printf("%s: %zu of %zu threads agree; sums %.3f ms, kernel %.3f ms (%+.3f %%)", a->name, a->agree, a->agree + a->differ,
	       a->ours / 1e6, a->kernels / 1e6, a->kernels > 0 ? 100 * (a->ours / a->kernels - 1) : 0);
	if (a->differ)
		printf("; worst %s", a->who);
	putchar('\n');
}

struct unseen {
	uint64_t missed, made_up, switches, idle, no_waker;
};

static struct unseen count_unseen(const struct ring *r)
{
	struct unseen u = {.no_waker = ring_counts(r)->no_waker};
	uint32_t n;
	const struct ring_cpu *cpus = ring_cpus(r, &n);

	for (uint32_t i = 0; i < n; i++) {
		u.missed += cpus[i].missed;
		u.made_up += cpus[i].made_up;
		u.switches += cpus[i].switches;
		u.idle += cpus[i].idle;
	}
	return u;
}

static double grown(const struct ring_task *a, const struct ring_task *b, enum ring_sum sum)
{
	return (double)(b->sum[sum] - a->sum[sum]);
}

int main(int argc, char **argv)
{
	struct reading before = {}, after = {};
	struct account on_cpu = {.name = "on_cpu"}, runnable = {.name = "runnable"}, disk = {.name = "disk"};
	struct unseen begun, ended;
	struct timespec from, to;
	struct ring_options options = {.sums_only = true, .check_kernel = true};
	struct hmap known = {};
	const char *why = "";
	struct ring *r;
	uint64_t span;

	verbose = argc > 2;
	if (ring_open(&options, &r, &why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	usleep(200000);
	begun = count_unseen(r);
	clock_gettime(CLOCK_MONOTONIC, &from);
	ring_look(r, take, &before);
	usleep((useconds_t)((argc > 1 ? atof(argv[1]) : 10) * 1e6));
	ring_look(r, take, &after);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ended = count_unseen(r);
	span = (uint64_t)(to.tv_sec - from.tv_sec + 1) * 1000000000ull;
	for (size_t i = 0; i < before.tasks.n; i++)
		(void)hmap_put(&known, before.tasks.v[i].who.tid, before.tasks.v[i].who.start, &before.tasks.v[i]);
	for (size_t i = 0; i < after.tasks.n; i++) {
		const struct ring_task *b = &after.tasks.v[i], *a = hmap_get(&known, b->who.tid, b->who.start);
		double delay, slack = a ? 500.0 * (double)(b->switches - a->switches + 2) : 0;

		/* of one that runs or waits at a reading, the kernel has not yet added up what continues */
		if (!a || a->state == STATE_RUNNING || b->state == STATE_RUNNING || thread_state_is_runnable(a->state) || thread_state_is_runnable(b->state))
			continue;
		compare(&on_cpu, b, grown(a, b, SUM_RUNNING), (double)(b->cpu_time - a->cpu_time), 0.001, slack);
		/* the scheduler takes some sleep for queueing, and that of before the programs were there cannot be reported from it */
		delay = (double)(b->run_delay - a->run_delay) - (double)(b->overcounted - a->overcounted);
		if (b->run_delay - a->run_delay < span)
			compare(&runnable, b, grown(a, b, SUM_RUNNABLE) + grown(a, b, SUM_PREEMPTED), delay - grown(a, b, SUM_QUOTA), 0.01, slack);
		/* of a wait that began before delay accounting was on the kernel adds all since its start: more than there was time */
		if (b->disk_delay > a->disk_delay && b->disk_delay - a->disk_delay < span)
			compare(&disk, b, grown(a, b, SUM_DISK), (double)(b->disk_delay - a->disk_delay), 0.02, slack);
	}
	print(&on_cpu);
	print(&runnable);
	print(&disk);
	printf("busy: %.3f s of all CPUs\n", ((double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9) * get_nprocs() -
						   (double)(ended.idle - begun.idle) / 1e9);
	printf("switches: %lu, of %lu more the kernel told late, of %lu not at all; wakers: %lu unknown\n", ended.switches - begun.switches,
	       ended.made_up - begun.made_up, ended.missed - begun.missed, ended.no_waker - begun.no_waker);
	hmap_free(&known);
	VEC_FREE(before.tasks);
	VEC_FREE(after.tasks);
	ring_close(r);
	return 0;
}
