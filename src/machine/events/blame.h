/* Who made whom wait: what src/machine/blame/blame.c finds and views show.
 *
 * Every nanosecond of every wait is charged once: the sum over a victim's cells of one kind equals its waits of that
 * kind in the window, exactly. What nothing can be named for is charged to BY_UNKNOWN, not left out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/events/interval.h"

enum blamed {
	BY_UNKNOWN,
	BY_TASK,	 /* a thread; at other levels a process, program or control group */
	BY_SELF,	 /* the victim's own work stood in contention: its earlier requests, its own memory */
	BY_IRQ,	 /* id: the interrupt's number */
	BY_SOFTIRQ, /* id: enum of the kernel: 0 HI .. 9 RCU */
	BY_WAKEUP,	 /* the CPU was idle or on its way: nothing was in contention, the wakeup took that long */
	BY_QUOTA,	 /* id: the control group, an index of names */
	BY_DEVICE,	 /* id: index of disks; it served the request itself, and nothing was ahead of it */
	BY_REMOTE,	 /* another machine, or who else sends by network */
	BY_CLOCK,	 /* a timer ended it: what was waited for did not come */
	BY_OTHERS,	 /* many tasks, each with a small part: they are not distinguished */
};

enum blame_flags {
	BLAME_MODELLED = 1, /* shared by a model, not seen: requests ahead, memory */
	BLAME_INFERRED = 2, /* the holder was concluded from the wakeup */
	BLAME_RESTED = 4,   /* in the meantime the culprit slept by its own will */
	BLAME_COARSE = 8,   /* the culprit stands for its process or program, or for whatever it waited for itself: there is too much to tell apart */
};

/* A victim, who was in contention with it, and how. */
struct blame_cell {
	uint32_t victim; /* index of a thread, or of blame_matrix.members at other levels */
	uint32_t id;	 /* of the culprit */
	uint32_t via;	 /* the thread the victim waited for, where the culprit held that one up; NOBODY */
	uint8_t culprit; /* enum blamed */
	uint8_t wait;	 /* enum wait_for: what the victim waited for */
	uint8_t root;	 /* enum wait_for: what the last in the chain waited for; FOR_NONE = it ran */
	uint8_t flags;
	uint32_t parts; /* how many waits, or parts of waits */
	int64_t ns, longest;
};

enum blame_level { LEVEL_THREAD, LEVEL_PROCESS, LEVEL_PROGRAM, LEVEL_CGROUP, LEVEL_COUNT };
extern const char *const blame_level_names[LEVEL_COUNT]; /* "thread" ... */

/* Whom a cell's victim, culprit and via are indexes of, above threads. */
struct blame_member {
	uint32_t name; /* into timeline.names; NOBODY */
	uint32_t pid;  /* 0 above processes */
	uint32_t thread; /* one of it */
	uint32_t threads;
};

struct blame_matrix {
	enum blame_level level;
	int64_t from, to;
	VEC(struct blame_cell) cells; /* the longest first */
	VEC(struct blame_member) members;
	int64_t waits[FOR_COUNT];   /* what all victims waited, summed from their intervals */
	int64_t charged[FOR_COUNT]; /* the sum of the cells: equal */
	int64_t unknown[FOR_COUNT];
	uint64_t cycles, deep; /* chains that came back to themselves, or were too long */
	uint64_t cut;	       /* chains that were not followed to the end: there were too many */
	int64_t sampled;       /* ns of waits for a CPU that are charged by samples of who had it: the CPU changed hands too often */
};

/* Queueing delays of one kind: how often, how long. */
#define DELAY_BUCKETS 24 /* bucket i: below 2^i us; the last one everything longer */

struct delays {
	uint32_t count[DELAY_BUCKETS];
	uint32_t n;
	int64_t ns, longest;
	int64_t longest_at; /* when the longest began, boot ns */
};

/* What a thread, or a process, did and suffered in a window. */
struct wait_report {
	int64_t from, to;
	int64_t state[INTERVAL_STATES];
	int64_t alive;			   /* the sum of all states: threads of a process add up */
	uint32_t waits[FOR_COUNT];
	uint32_t samples, user_samples;	   /* of the profile while it ran; in user mode: how its running time splits */
	struct delays delays[INTERVAL_STATES]; /* of runnable states: from being ready to having a CPU, by cause */
};

/* A piece of the critical path, in the order of time. */
struct path_piece {
	int64_t from, to;
	uint32_t thread;
	uint8_t depth; /* 0 = the thread asked about */
	uint8_t state; /* enum thread_state */
	uint8_t culprit; /* of runnable, disk and the like: which one caused the wait for the longest part */
	uint8_t flags; /* enum step_flags of the walk, as BLAME_INFERRED */
	uint32_t id;
	struct path_wait {
		int64_t since;			    /* 0: the thread asked about did not wait */
		stack_ref kernel_stack, user_stack; /* where it slept; of a wait of 1 ms or more */
		stack_ref waker_stack;		    /* where the thread was that ended it */
		uint32_t waker; /* an index; UINT32_MAX = none is known */
	} wait; /* of the thread asked about, of which this is a part */
};

struct critical_path {
	uint32_t thread;
	int64_t from, to;
	VEC(struct path_piece) pieces;
};

void blame_matrix_free(struct blame_matrix *m);
/* Who held the lock that a cell's victim waited for, whatever held that one up: an index as blame_cell.id. UINT32_MAX
 * without a known holder, and for other waits. */
uint32_t blame_holder(const struct blame_cell *c);
/* The time that all victims waited for locks of the same holder, ns; of a cell without a holder its own. */
int64_t blame_held(const struct blame_matrix *m, const struct blame_cell *c);

/* On a CPU, wanting one, blocked and contended, awaited: sums over states. */
int64_t wait_report_running(const struct wait_report *r);
int64_t wait_report_waited(const struct wait_report *r, enum wait_for wait);
int64_t wait_report_contended(const struct wait_report *r);
/* The shortest span such that `share` of the delays of all causes were no longer: exact to a factor of two. */
int64_t delays_quantile(const struct delays *d, double share);
