/* Profile samples of threads that run: perf's software clock, with registers and the top of the user stack. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/events/capture.h"
#include "machine/flight/thread-sampler.h"

struct samples;

#define SAMPLES_UNITS_MAX 4

/* The kinds of cores whose branches are recorded: perf's number for the counters of each. */
struct samples_units {
	uint32_t types[SAMPLES_UNITS_MAX];
	unsigned n;
};

struct samples_options {
	unsigned frequency;   /* a second */
	unsigned buffer_pages; /* of 4 KiB, a power of two; for each thread or CPU added */
	unsigned stack;	      /* bytes of user stack with each; at most CAPTURE_STACK_MAX */
	bool user_only;	      /* what the kernel runs is not seen: all that others than root may have */
	uint64_t branch_period; /* not 0: the branches that the CPU recorded, at each so-many-th branch, in place of the clock (branches.h) */
	struct samples_units branch_units;
};

/* 0 or -ENOMEM. */
int samples_new(const struct samples_options *options, struct samples **ret);
void samples_free(struct samples *s);
/* Samples a CPU (tid -1), of which the BPF program lets through what is wanted (-1 = all), or of a thread (cpu -1). 0;
 * -ENODEV for a CPU that is switched off; -ESRCH; -EACCES; -errno. */
int samples_add(struct samples *s, int tid, int cpu, int bpf_program);
/* From now on. 0 or -errno. */
int samples_enable(struct samples *s);
/* Those that came since the last call. `scratch` is used for each. */
void samples_take(struct samples *s, struct capture_thread *scratch, const struct thread_sampler_callbacks *c);
/* The bytes behind the header of such a record of branches: pid, tid, how many, and from, to and flags of each, the latest first. A record that
 * is not whole has none. */
void samples_read_branches(const uint8_t *bytes, size_t n, struct capture_thread *scratch, const struct thread_sampler_callbacks *c);
/* For which the kernel had no room. */
uint64_t samples_lost(const struct samples *s);
