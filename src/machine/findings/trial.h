/* Proof by experiment: a culprit held back and let go in phases of random order, and what those waited who
 * waited. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/vec.h"

#define TRIAL_PHASES 8 /* half of them held back */

enum trial_verdict { TRIAL_UNCLEAR, TRIAL_YES, TRIAL_NO };
extern const char *const trial_verdict_names[]; /* "unclear", "yes", "no" */

/* Shares are of one thread's time: 0.5 = half a second a second; those of several threads add up. */
struct trial_sample {
	int64_t at; /* ns since the trial began, the middle of the interval */
	int phase;  /* -1 before the first one, TRIAL_PHASES after the last one */
	bool held;
	bool settling; /* just after a change: in the chart, not in the phase's figures */
	double waits;  /* of the victims */
	double late;   /* ns: how late a program of normal priority came to run, on average; NaN = not felt */
	double use;    /* what the culprit used: CPUs, or bytes/s */
};

struct trial_phase {
	bool held;
	double waits, late, use;
};

struct trial_victim {
	uint32_t pid;
	char name[33];
	double before;	   /* what it waited before the first phase, of one thread's time */
	double free, held; /* and in the phases */
};

struct trial {
	uint32_t pid; /* the first of them */
	char name[33];
	VEC(uint32_t) pids; /* all that are held together, without what descends from them */
	uint32_t joined;    /* began later, and were held with them from the next phase on */
	char *unit;	 /* held whole; NULL = none */
	const char *of;	 /* "cpu", "disk", "memory" */
	const char *way; /* "unit", "limit", "freeze", "class" */
	char *how;	 /* in words */
	int64_t wall;	 /* when it began */
	struct trial_phase phases[TRIAL_PHASES];
	VEC(struct trial_sample) samples;
	VEC(struct trial_victim) victims;
	double use_free, use_held;     /* what the culprit used */
	double waits_free, waits_held; /* means of the phases */
	double late_free, late_held;   /* ns */
	double p;		       /* exact, one-sided: of so much less waiting while it is held back */
	double effect, low, high;      /* less waiting: Hodges-Lehmann, and its interval */
	double coverage;	       /* of that interval */
	bool bound;		       /* it used much less while it was held back */
	enum trial_verdict verdict;
	char *reason; /* of an unclear verdict, in words; NULL otherwise */
};
void trial_free(struct trial *t);
