/* The phases of a trial, one after the other: when to hold back, when to let go, when to look. */
#pragma once

#include "machine/findings/trial.h"

struct experiment {
	int64_t before, after; /* ns of looking before the first phase, and after the last one */
	int64_t settle;	       /* ns at the beginning of each phase that do not count */
	int64_t phase;	       /* ns of each phase that count */
	int64_t sample;	       /* ns between two looks */
	/* All get `data`. change: hold back or let go; look: what happened since the look before (waits,
	 * late, use of *ret); rest: until a moment (monotonic ns), -EINTR = stop. 0 or -errno, which ends the
	 * experiment. */
	int (*change)(void *data, bool held);
	int (*look)(void *data, struct trial_sample *ret);
	int (*rest)(void *data, int64_t until);
	int64_t (*now)(void); /* monotonic ns */
	/* After `before`, before the first phase: the victims are chosen. */
	int (*ready)(void *data);
	void *data;
};

/* Runs it in the order of t->phases[].held; t->samples get what was seen. It ends let go, unless change()
 * itself fails. 0, or -errno of what ended it. */
int experiment_run(const struct experiment *e, struct trial *t);
