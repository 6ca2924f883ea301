/* The result of reading the flight recorder: events in order of time, and what they speak of.
 *
 * One trace is one freeze of the ring (or two: before a press and after it), a trace file, or what a test put together:
 *
 *   _cleanup_(trace_clear) struct trace t = {};
 *   trace_begin(&t, 2);                                          // CPUs
 *   trace_add_thread(&t, &(struct trace_thread){.tid = 7, .tgid = 7, .comm = "victim"});
 *   trace_add(&t, &(struct event){.time = 1000, .thread = 7, .cpu = 0, .kind = EVENT_SWITCH, .out.next = 9});
 *   trace_finish(&t);                                            // sorts, finds spans
 *
 * Before the first event of a CPU's span, and in a gap, nothing is known of it. Nothing is thrown away to make CPUs begin
 * at one time: `from` of the trace is when the last of them begins.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "machine/events/event.h"

#define TRACE_COMM 16
#define TRACE_FRAMES 48 /* of a stack, innermost first; deeper ones are cut off */

enum trace_thread_flags {
	THREAD_IS_KERNEL = 1,
	THREAD_IS_SELF = 2,   /* whyslow's own: labelled, never left out */
	THREAD_HAS_ENDED = 4, /* before the freeze */
	THREAD_IS_IDLE = 8,   /* tid 0: the CPUs' own, one entry for all */
	THREAD_IS_HIDDEN = 16, /* another user's: exe is not shown */
};

/* A thread that lived in the trace's span. A number may be used again: then there are several of that tid, in order of
 * `start`. */
struct trace_thread {
	uint32_t tid, tgid;
	uint32_t ns_tid, ns_tgid; /* its numbers in its own pid namespace; equal to tid, tgid in the initial one */
	uint32_t pid_ns;	  /* inode of that namespace; 0 = not known */
	uint32_t parent;	  /* tgid */
	uint32_t uid;
	uint32_t flags;
	int32_t prio;	       /* the kernel's: 120 = nice 0, below 100 real-time, -1 deadline */
	uint64_t start;	       /* CLOCK_MONOTONIC, ns; 0 = not known */
	uint64_t end;	       /* CLOCK_MONOTONIC, ns; 0 = lived at the freeze */
	uint64_t group;	       /* control group's id; see trace_unit() */
	char comm[TRACE_COMM + 1];
	char *exe;  /* NULL = not known */
	char *label; /* of a leader: entity_label() by a recording, which knows the arguments; NULL = by none. No trace keeps it */
	char *unit; /* systemd unit or control group's path; NULL = not known */

	/* At the freeze (living threads): how a thread that no event tells of is found. */
	uint8_t state;	      /* enum thread_state; STATE_UNKNOWN = not looked at */
	struct wait_facts facts;
	int16_t syscall;      /* as in event.out */
	uint16_t cpu;	      /* where it runs or ran last */
	uint64_t state_since; /* CLOCK_MONOTONIC; 0 = before anything was recorded of it */
	uint64_t object;      /* as in event.out */
	uint32_t owner;	      /* of the lock, as in event.lock; its LOCK_ flags: */
	uint8_t lock_flags;
	uint64_t cpu_time, run_delay; /* sum_exec_runtime, run_delay: ns, since it began */
	uint64_t write_bytes;	      /* dirtied for storage since it began */
	/* ns: the longest wait for what others do, of the last 20 s or a little more (one that continues included), and of the minutes before. 0 = not known */
	uint64_t longest_lately, longest_before;
	uint64_t slept_before; /* ns: the longest sleep that it asked for, of the minutes before; 0 = not known */
};

struct trace_cpu {
	bool there;	   /* false: this number has no CPU */
	uint64_t from, to; /* what its records cover; to = the freeze */
	uint64_t written;  /* records, those that were overwritten included */
	uint64_t torn;	   /* slots that were being written at the freeze, or were found damaged */
	uint64_t skipped;  /* switches that the kernel did not tell of: another thread leaves than had come */
	uint64_t unknown;  /* records of kinds this version does not know */
};

/* Where the memory of a process comes from, as far as stacks of the trace point there. */
struct trace_mapping {
	uint32_t process; /* tgid; 0 = the kernel's modules */
	uint32_t module;  /* index into modules */
	uint64_t start, end;
	uint64_t offset; /* in the module's file, of `start` */
};

struct trace_module {
	char *path; /* as the process saw it; "[vdso]", "[kernel]" */
	uint8_t build_id[20];
	uint8_t build_id_size; /* 0 = none */
};

/* A name for one address, where only the recorded machine had it: kernel symbols, JITs. */
struct trace_symbol {
	uint32_t process; /* 0 = kernel */
	uint64_t address; /* of a frame */
	char *name;
};

struct trace_stack {
	stack_ref ref;
	uint32_t n;
	uint64_t *frames; /* innermost first */
};

struct trace {
	struct event *events;
	size_t n_events, allocated;

	struct trace_cpu *cpus;
	uint32_t n_cpus; /* highest number + 1 */

	/* CLOCK_MONOTONIC, ns. from: where the last CPU begins; to: the last freeze; frozen: the (first) freeze, the press. */
	uint64_t from, to, frozen;
	int64_t wall_offset; /* wall - monotonic, ns */
	int64_t boot_offset; /* CLOCK_BOOTTIME - monotonic, ns */
	uint64_t gap;	     /* ns around `frozen` of which one of the two generations may lack records */

	VEC(struct trace_thread) threads; /* by (tid, start) after trace_finish() */
	VEC(struct trace_module) modules;
	VEC(struct trace_mapping) mappings; /* by (process, start) after trace_finish() */
	VEC(struct trace_symbol) symbols;   /* by (process, address) after trace_finish() */
	struct hmap stacks;		    /* (ref, 0) -> struct trace_stack */
	uint64_t stacks_lost;		    /* references whose slot was used again */

	char *machine;	    /* "x86_64" */
	char *host, *kernel; /* release */
	bool has_deadlines, has_lock_owners, has_quota_clock, has_wakers, has_block; /* what the kernel could tell */
	const char *source; /* "ring", "tracefs", "test"; static */
};

/* Empty, for CPUs 0 .. n_cpus-1. 0 or -ENOMEM. */
int trace_begin(struct trace *t, uint32_t n_cpus);
void trace_clear(struct trace *t);

/* Appends; in any order before trace_finish(). 0, -ENOMEM, or -EINVAL for a CPU it does not have. */
int trace_add(struct trace *t, const struct event *e);
/* Room for n more events, all at once; NULL without memory. The caller fills them and adds to n_events. */
struct event *trace_reserve(struct trace *t, size_t n);
/* Takes over exe and unit. 0 or -ENOMEM. */
int trace_add_thread(struct trace *t, const struct trace_thread *thread);
/* Copies the frames. 0 or -ENOMEM. */
int trace_add_stack(struct trace *t, stack_ref ref, const uint64_t *frames, uint32_t n);

/* Sorts everything, fills in threads that only events speak of (FORK, EXEC, EXIT, NAME), the idle thread, and from, to
 * and the CPUs' spans where the caller left them 0. Records of unknown kinds are dropped and counted. Idempotent.
 * 0 or -ENOMEM. */
int trace_finish(struct trace *t);
/* Before trace_finish(): leaves what came after `since`, up to the freeze, which is then the end of the CPUs' spans and the trace's. */
void trace_cut(struct trace *t, uint64_t since);
/* Appends all of `later` (a second generation of the same machine) and finishes; `later` is emptied. 0 or -ENOMEM. */
int trace_append(struct trace *t, struct trace *later);

/* A view of the last `n` events up to `until` (CLOCK_MONOTONIC, ns) of a finished trace, or of all where it has fewer, which is frozen and ends
 * there: *ret shares everything with it but `cpus`, which the caller has, as many as the trace. Not to be cleared. */
void trace_tail(const struct trace *t, uint64_t until, size_t n, struct trace_cpu *cpus, struct trace *ret);

/* The thread that had this number at that time, or, of none that did, the nearest; NULL = never heard of. */
const struct trace_thread *trace_thread(const struct trace *t, uint32_t tid, uint64_t time);
/* The name of a thread's program: its label, or entity_label() without arguments, of which a trace knows none. The caller frees; NULL without memory. */
char *trace_program(const struct trace *t, const struct trace_thread *thread);
/* The thread that `sleeper` means by a number of its own pid namespace; NULL = none that lives then. */
const struct trace_thread *trace_thread_in_namespace(const struct trace *t, const struct trace_thread *sleeper,
						     uint32_t number, uint64_t time);
/* NULL where it was overwritten or never taken. */
const struct trace_stack *trace_stack(const struct trace *t, stack_ref ref);
/* How many of a stack's frames are to be believed. The kernel walks a program's stack by its frame pointers; where it keeps none, the
 * walk goes astray, and what it finds next lies in no code of the process, or, where nothing is known of its memory, at no address of a program. */
uint32_t trace_stack_depth(const struct trace *t, uint32_t process, const struct trace_stack *s);
/* The mapping a process's address is in, or NULL; process 0 = the kernel. */
const struct trace_mapping *trace_mapping(const struct trace *t, uint32_t process, uint64_t address);
const char *trace_symbol(const struct trace *t, uint32_t process, uint64_t address);

/* The index of the first event at or after `time`. */
size_t trace_find(const struct trace *t, uint64_t time);
/* Whether a system call, by its number on the recording machine, gives data away: write, send ... */
bool trace_gives(const struct trace *t, int16_t syscall);

static inline int64_t trace_wall(const struct trace *t, uint64_t time)
{
	return (int64_t)time + t->wall_offset;
}

