/* The flight recorder: loads the BPF programs that write it, and reads what is there at a moment into a trace.
 *
 * When a generation of the ring's memory is full the programs are turned to the other, so that there is always one
 * generation's worth of past. A freeze copies both as they were at one moment, while recording continues, and changes nothing:
 * what comes after it has the same past.
 *
 * Another process (root) joins a ring by the numbers of its maps: it sees its sums, and cannot freeze it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/events/ring-layout.h"
#include "machine/events/trace.h"

struct ring;

struct ring_options {
	uint64_t bytes; /* of events, both generations; 0 = ring_default_bytes() */
	bool stacks;	/* of long waits */
	bool profile;	/* samples at 49 Hz a CPU, once ring_profile() switches them on */
	bool keep_profile; /* stacks are added up for ring_take_profile() */
	bool attach_later; /* the caller calls ring_attach(): it takes a second, in which nothing is recorded yet */
	bool sums_only; /* the smallest ring: for `cpu` without a recorder */
	bool check_kernel; /* ring_task.overcounted is known */
};

/* 1 % of the memory, at most 64 MiB. */
uint64_t ring_default_bytes(void);

/* 0, or -errno with *ret_why in words: what is missing and what would fix it (static text). */
int ring_open(const struct ring_options *options, struct ring **ret, const char **ret_why);
int ring_attach(struct ring *r);
/* Do all programs run? From any thread. */
bool ring_is_attached(const struct ring *r);
/* How often it was frozen, by this process or one that was forked of it: a question about that moment. From any thread. */
uint32_t ring_freezes(const struct ring *r);
void ring_close(struct ring *r);
/* In a process that was forked after ring_open() and before ring_attach(): freezes and looks work there too, for as long as the
 * one that opened it lives. The copy is never closed. 0 or -errno. */
int ring_inherit(struct ring *r);

/* For ring_join() of another process: numbers of the program that looks at threads and of the maps with what is added up. */
struct ring_shared {
	uint32_t look, cpus, counts, ended;
	uint32_t task_size; /* of struct ring_task: another build's may differ */
};
/* 0 or -errno. */
int ring_shares(const struct ring *r, struct ring_shared *ret);
/* Only looks (ring_look(), ring_look_back(), ring_cpus()) work with one that was joined, also after the other process has ended. 0, or -errno: it is
 * gone, or of another build (-ESTALE), or this process has no right to it (CAP_SYS_ADMIN). */
int ring_join(const struct ring_shared *shared, struct ring **ret);
/* What is kept of threads (struct ring_thread), for other programs to read with machine/bpf/ring-thread.h. 0 or -errno. */
struct bpf_map;
int ring_share_threads(const struct ring *r, struct bpf_map *threads, struct bpf_map *thread_slots);
/* Of which processes threads were woken, for one reader, who clears that. 0 or -errno. */
int ring_share_woken(const struct ring *r, struct bpf_map *woken);

/* Copies the events after `since` (CLOCK_MONOTONIC ns) that are there at the moment of the call (ret->frozen), at most so many: the
 * newest (0 = all there are). What only the living machine knows (exe, unit) is filled in for processes that still live. From any thread, one
 * at a time. 0 or -errno. */
int ring_freeze_since(struct ring *r, uint64_t since, size_t most, struct trace *ret);
/* Turns the programs to the other generation if this one is full; what that held is overwritten. Cheap: for every tick.
 * Never waits for a freeze. */
void ring_turn(struct ring *r);

/* Samples on or off: off while the machine idles, so that nothing is woken for them. */
void ring_profile(struct ring *r, bool on);

/* Takes what was added up since the last time, of every process and stack that ran or waited, and calls back for each. From one thread. 0
 * or -errno. */
int ring_take_profile(struct ring *r, void (*each)(const struct ring_profile_key *key, const struct ring_profile_sum *sum, void *data), void *data);
/* Copies a stack, innermost first. How many frames it has; 0: it is not kept any more. */
uint32_t ring_copy_stack(const struct ring *r, stack_ref ref, uint64_t frames[RING_FRAMES]);

/* Calls back for every thread of the machine, in the kernel's order. 0 or -errno. */
int ring_look(struct ring *r, void (*each)(const struct ring_task *task, void *data), void *data);
/* The same of those that ended after `since` (CLOCK_MONOTONIC ns), as far as they are remembered (RING_ENDED). */
void ring_look_back(struct ring *r, uint64_t since, void (*each)(const struct ring_task *task, void *data), void *data);
/* The CPUs' counters, live; *ret_n of them. */
const struct ring_cpu *ring_cpus(const struct ring *r, uint32_t *ret_n);
const struct ring_counts *ring_counts(const struct ring *r);

/* What this kernel cannot tell, a line each; for `doctor`. Belongs to the caller. NULL = nothing is missing. */
char *ring_missing(void);

/* --- for tests: slots as they lie in memory --- */

struct ring_slice {
	const struct event *slots;
	uint64_t n;	      /* a power of two */
	uint64_t begin, head; /* positions: the generation began at `begin`; `head` is the next one */
	uint64_t began;	      /* CLOCK_MONOTONIC, ns */
	const struct ring_stage *stage; /* where its last records are; NULL = all are in the slots */
	const uint64_t *live; /* `head` as it grows while it is read; NULL = it does not */
	uint64_t most;	      /* the newest so many are read, the others count as written over; 0 = all */
};
/* Appends a CPU's records to a trace; torn and overwritten slots are left out and counted. 0 or -ENOMEM. */
int ring_read_slice(const struct ring_slice *slice, uint16_t cpu, struct trace *t);
