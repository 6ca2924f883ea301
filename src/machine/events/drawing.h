/* An interval of the timeline as it can be drawn on so many points, whatever happened in between: what machine/threads/draw.c
 * makes and views hand on.
 *
 * A run is one state, or, where states change faster than once a point, a mix of them with their shares: nothing is left
 * out by sampling, and boundaries of what is long enough to be seen are exact. A line has at most about two runs a point.
 */
#pragma once

#include "lib/data/hmap.h"
#include "machine/events/blame.h"

#define DRAWN_KINDS 32 /* states of a thread, or uses of a CPU */
#define MIX_PARTS   4  /* the largest of a mix; what the others had goes to the largest */
#define MIX_SHARES  16 /* shares of a mix are sixteenths, and add up to that */

/* What a CPU is used for, seen from one chosen process. */
enum cpu_use { USE_UNKNOWN, USE_IDLE, USE_SYSTEM /* interrupts, threads of the kernel */, USE_OTHER, USE_CHOSEN, CPU_USES };
extern const char *const cpu_use_names[CPU_USES]; /* as in JSON */

struct mix {
	uint8_t kind[MIX_PARTS], share[MIX_PARTS]; /* by kind; share 0 = no more */
};

struct run {
	int64_t from, to;
	uint32_t what; /* a kind, or DRAWN_KINDS + index into mixes */
	uint32_t who;  /* of a CPU: the thread that had all of it; NOBODY */
};

struct mixes {
	VEC(struct mix) v;
	struct hmap known; /* (its bytes, 0) -> index + 1 */
};

/* A group's row is followed by its threads' unless it is folded; a process with one thread has no group's row. */
struct thread_row {
	uint32_t thread;  /* index; NOBODY: a group's row */
	uint32_t process; /* tgid; 0 = the kernel's threads */
	uint32_t members; /* of a group: how many threads */
	const char *name; /* of the process; the timeline's */
	bool first;	  /* of those that were asked to come first */
	bool folded;
};

struct drawn_line {
	struct thread_row row; /* of a CPU nothing */
	uint32_t cpu;	       /* of a CPU */
	VEC(struct run) runs;
	int64_t sums[DRAWN_KINDS]; /* ns of [from, to), by kind; of a group all members' */
};

struct drawing {
	int64_t from, to;
	uint32_t points;      /* 0: sums only */
	size_t first, n_rows; /* the place of lines[0] among all rows */
	VEC(struct drawn_line) lines, cpus;
	struct mixes mixes;
	int64_t sums[DRAWN_KINDS]; /* of all threads that pass the filter */
	uint32_t chosen;	   /* the process seen as USE_CHOSEN; 0 = none */
	struct critical_path path; /* no pieces: not asked for. Shorter ones than a point are joined to longer ones */
	bool has_path;
};

/* What one thread was doing at one moment, and why. */
struct instant {
	uint32_t thread;
	const struct interval *interval;
	struct critical_path chain;	 /* who was waited for, over the interval */
	struct blame_matrix matrix;	 /* which one caused the wait of it, at the level of threads */
};

void drawing_free(struct drawing *d);
void instant_free(struct instant *m);
