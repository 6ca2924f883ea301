/* Within the flight recorder's reader: what its files share. */
#pragma once

#include <bpf/libbpf.h>
#include <pthread.h>

#include "ring.skel.h"
#include "source/ring.h"

/* What the running kernel can tell, found when the programs are loaded. */
struct ring_abilities {
	bool deadlines, quota_clock, lock_owners, block;
};

struct ring {
	struct ring_bpf *skel;
	struct bpf_link *look, *adopt;
	uint32_t n_cpus;
	uint64_t slots;
	struct ring_abilities can;
	pthread_mutex_t lock; /* of the generations */
	struct generation {
		uint64_t *begin;	 /* of each CPU: its position when the generation's turn began */
		uint64_t began, rested;	 /* CLOCK_MONOTONIC */
	} generations[RING_GENERATIONS];
	const struct event *events;
	const struct ring_stage *staged;
	struct ring_cpu *cpus;
	const struct ring_stack *stacks;
	const struct ring_ended *ended;
	struct ring_counts *counts;
	int *samplers; /* one perf event a CPU, or -1 */
	struct bpf_link **sampling;
	bool profiling, joined;
	bool wants_samples;
	bool attached; /* set by whichever thread attached it, when all is there */
};


struct btf;

/* ring-kernel.c */
bool kernel_traces(const struct btf *vmlinux, const char *tracepoint);
struct ring_abilities kernel_abilities(const struct btf *vmlinux);

/* ring-profile.c: a sampler a CPU, switched off. 0 or -ENOMEM; a CPU that cannot be sampled is left out. */
int ring_open_samplers(struct ring *r);
void ring_close_samplers(struct ring *r);
