/* Who was in which state from when to when, and what ended it.
 *
 * The timeline is what machine/threads makes of a frozen trace and what views draw and export: for every thread its
 * intervals, without a gap or an overlap from its first to its last moment; for every CPU who had it; the requests of
 * the disks; and for every lock who was seen holding it. Times are ns of CLOCK_MONOTONIC, as in the trace, which must
 * outlive the timeline. Threads are indexes, not tids (a tid may come twice): those of the trace's table, then those
 * that only events know.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/vec.h"
#include "machine/events/trace.h"

#define NOBODY UINT32_MAX /* no thread, no object, no request */

/* Every nanosecond of a thread is in exactly one state: those of classify.h, and what only the whole trace tells. */
enum interval_state {
	STATE_KERNEL = STATE_COUNT, /* a kernel thread runs */
	STATE_RECLAIMING,	    /* runs, but frees memory before it may have some */
	STATE_IRQ,		    /* has the CPU, which serves an interrupt */
	STATE_SOFTIRQ,		    /* has the CPU, which does softirq work */
	STATE_UNINTERRUPTIBLE,	    /* in the kernel, nothing says on what */
	STATE_FULL,		    /* would write to a pipe, local socket or terminal, and the one that reads that has left no room */
	INTERVAL_STATES
};

enum state_group { GROUP_UNKNOWN, GROUP_RUNNING, GROUP_RUNNABLE, GROUP_BLOCKED, GROUP_RESTING };

/* What a wait is for. Contended: others use it. Awaited: others' work is its source; such a wait need not be bad. */
enum wait_for {
	FOR_NONE,
	FOR_CPU,
	FOR_QUOTA,
	FOR_LOCK,
	FOR_DISK,
	FOR_FAULT,
	FOR_MEMORY,
	FOR_INTERRUPT, /* had the CPU, but interrupts used it */
	FOR_OTHER,
	FOR_READER, /* who writes wants to continue: no one waits for work in a write */
	FOR_PEER, /* from here on: awaited */
	FOR_NETWORK,
	FOR_CONDITION,
	FOR_CHILD,
	FOR_UNCLEAR, /* interruptible, and nothing else is known */
	FOR_COUNT
};

struct state_row {
	const char *name; /* as in JSON */
	const char *text; /* for people */
	enum state_group group;
	enum wait_for wait;
};
extern const struct state_row state_table[INTERVAL_STATES];
const char *wait_for_name(enum wait_for w); /* as in JSON */
const char *wait_for_text(enum wait_for w); /* "a CPU", "a lock" ... */
static inline bool wait_for_is_contended(enum wait_for w)
{
	return w > FOR_NONE && w < FOR_PEER;
}

/* Where a wakeup came from. */
enum waker_kind {
	WAKER_UNKNOWN, /* no wakeup was seen */
	WAKER_TASK,    /* interval.waker did it */
	WAKER_TIMER,
	WAKER_NETWORK,
	WAKER_BLOCK, /* a request completed: interval.request where it is known */
	WAKER_IRQ,   /* another interrupt; interval.waker is a bystander and not kept */
};

enum interval_flags {
	INTERVAL_RETRY = 1,	/* a false wakeup ended it: it waits on for the same in the next blocked interval */
	INTERVAL_MOVED = 2,	/* continues in the next interval on another CPU */
	INTERVAL_INFERRED = 4,	/* its beginning or state was not seen but concluded */
	INTERVAL_OPEN = 8,	/* the trace ended first */
};

struct interval {
	int64_t start, end;
	uint32_t waker;	   /* the thread that ended it; NOBODY */
	uint32_t holder;   /* of the lock when the wait began; NOBODY */
	uint32_t object;   /* index into timeline.locks; NOBODY */
	uint32_t request;  /* that ended it: index into timeline.requests; NOBODY */
	uint32_t near; /* about where to look. Runnable or interrupted: where it begins in the CPU's segments; of a lock: in that one's
			* sightings; else blocked: where the waker was in its intervals */
	stack_ref kernel_stack, user_stack; /* where it slept; 0 = not taken */
	stack_ref waker_stack;
	uint16_t cpu;
	uint8_t state; /* enum thread_state or interval_state */
	uint8_t call;  /* enum wait_call */
	uint8_t waker_kind;
	uint8_t flags;
};

struct thread_line {
	uint32_t tid, tgid;
	uint32_t program; /* into timeline.names: the program's; of kernel threads without their numbers */
	uint32_t unit;	  /* into timeline.names: unit or control group; NOBODY */
	const char *comm; /* the trace's */
	bool kernel, self;
	VEC(struct interval) intervals;
	VEC(uint32_t) requests; /* its own, in the order of insertion */
	VEC(uint64_t) samples;	/* when the profile met it running: ns << 1 | in user mode */
};

enum segment_kind { SEGMENT_UNKNOWN, SEGMENT_IDLE, SEGMENT_TASK, SEGMENT_IRQ, SEGMENT_SOFTIRQ };

/* Who had a CPU from `start` until the next segment's start. */
struct segment {
	int64_t start;
	uint32_t who; /* thread, irq or softirq number */
	uint32_t kind;
};

struct cpu_line {
	int64_t start, end; /* what of it is known */
	VEC(struct segment) segments;
};

/* A request of a disk. 0 = not seen. With scheduler `none` nothing is inserted: insert = issue. */
struct disk_request {
	int64_t insert, issue, complete;
	uint32_t owner; /* who inserted it (issued it, where nothing is inserted) */
	uint32_t disk; /* index into timeline.disks */
	uint32_t place; /* index into the disk's `issued`; NOBODY before it was issued */
	uint32_t bytes;
	uint32_t ahead; /* requests in flight on the device when it was issued */
	bool write;
};

struct disk_line {
	uint32_t device; /* dev_t as the kernel has it: major << 20 | minor */
	uint32_t name;	 /* into timeline.names; NOBODY */
	VEC(uint32_t) issued; /* indexes of requests in the order of issue */
};

/* Something was seen holding the lock, from then until the next sighting. */
struct sighting {
	int64_t at;
	uint32_t holder; /* NOBODY: nothing as far as is known */
	uint32_t near;	 /* about where it then was in its intervals */
	bool inferred;	 /* handed over to it, not seen holding it */
};

struct lock_line {
	uint64_t address;
	uint32_t tgid; /* 0 = the kernel's */
	VEC(struct sighting) sightings;
};

/* Bytes that a thread dirtied, for others to write. */
struct dirtying {
	int64_t at;
	uint32_t thread;
	uint64_t bytes;
};

/* Pages that a thread had to free before it was given some: who frees memory is who allocates. */
struct freeing {
	int64_t at;
	uint32_t thread;
	bool group; /* within the limit of a control group: others are not concerned */
	uint64_t pages;
};

/* Events that did not fit: tolerated, counted, reported. */
struct timeline_faults {
	uint64_t lost;		  /* torn or never written, as the trace says */
	uint64_t unknown_kinds;
	uint64_t broken_switches; /* who left the CPU was not who was known to run there */
	uint64_t no_waker;	  /* a blocked thread ran without its wakeup seen */
	uint64_t bad_numbers;	  /* CPUs or times out of range: dropped */
	uint64_t odd_requests;	  /* completed without having been issued, and the like */
};

struct timeline {
	const struct trace *trace;
	int64_t start, end;   /* every CPU is known */
	int64_t origin;	      /* the first CPU is known: intervals begin here */
	VEC(struct thread_line) threads;
	VEC(struct cpu_line) cpus;
	VEC(struct disk_request) requests; /* as they appeared */
	VEC(struct disk_line) disks;
	VEC(struct lock_line) locks;
	VEC(struct dirtying) dirtyings;
	VEC(struct freeing) freeings;
	VEC(char *) names;
	struct timeline_faults faults;
};

void timeline_free(struct timeline *t);
/* The first interval that ends after `at`; intervals.n when there is none. */
size_t interval_find(const struct thread_line *line, int64_t at);
/* The same, quick when it lies near `guess`. */
size_t interval_near(const struct thread_line *line, int64_t at, size_t guess);
/* The segment that holds `at`; 0 before the first. */
size_t segment_find(const struct cpu_line *cpu, int64_t at);
size_t segment_near(const struct cpu_line *cpu, int64_t at, size_t guess);
/* How many sightings were at or before `at`. */
size_t sightings_near(const struct lock_line *lock, int64_t at, size_t guess);
