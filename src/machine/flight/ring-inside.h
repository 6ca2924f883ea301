/* Within the flight recorder's reader: what its files share. */
#pragma once

#include <bpf/libbpf.h>
#include <pthread.h>
#include <sys/uio.h>

#include "machine/flight/ring.h"
#include "ring.skel.h"

/* The abilities of the running kernel, found when the programs are loaded. */
struct ring_abilities {
	bool deadlines, quota_clock, lock_owners, block;
};

/* How the generations take turns: memory that the recorder shares with the processes it forks, which freeze the same ring. */
struct ring_turns {
	pthread_mutex_t lock; /* between processes; one may die with it */
	bool attached;	      /* set by the thread that attached the programs, when all is there */
	uint32_t freezes;
	struct {
		uint64_t began, rested; /* CLOCK_MONOTONIC */
	} generations[RING_GENERATIONS];
	uint64_t begin[]; /* [generation * n_cpus + cpu]: its position when the generation's turn began */
};

struct ring {
	struct ring_bpf *skel; /* NULL: another process's was joined */
	int look;	       /* the link of the iterator; -1 = none */
	uint32_t n_cpus;
	uint64_t slots;
	struct ring_abilities can;
	struct ring_turns *turns;
	const struct event *events;
	const struct ring_stage *staged;
	struct ring_cpu *cpus;
	const struct ring_stack *stacks;
	const struct ring_ended *ended;
	struct ring_counts *counts;
	struct iovec mapped[6]; /* those six, as far as they are mapped */
	uint32_t n_mapped;
	int *samplers; /* one perf event a CPU, or -1 */
	struct bpf_link **sampling;
	bool profiling;
	bool wants_samples;
	uint32_t owner, forked; /* the process that opened it, and the one that was forked of it (ring_inherit()); 0 = none */
};

struct btf;

/* ring-kernel.c */
bool ring_kernel_traces(const struct btf *vmlinux, const char *tracepoint);
struct ring_abilities ring_kernel_abilities(const struct btf *vmlinux);

/* Takes the lock of the turns; what a process that died with it left is sound. */
void ring_lock_turns(struct ring *r);
static inline uint64_t *ring_begin(const struct ring *r, uint32_t generation)
{
	return r->turns->begin + (size_t)generation * r->n_cpus;
}

/* ring-profile.c: a sampler a CPU, switched off. 0 or -ENOMEM; a CPU that cannot be sampled is left out. */
int ring_open_samplers(struct ring *r);
void ring_close_samplers(struct ring *r);
