/* Level of detail: one line of the timeline as runs (machine/events/drawing.h).
 *
 * The intervals themselves are walked at every question; there is no pyramid of sums next to them. All of a frozen ring
 * is walked in some ten milliseconds (bench/web), what is visible of it in less, and a pyramid would have to be built
 * for each freeze before the first look.
 */
#pragma once

#include "machine/events/drawing.h"

/* A drawing's lines are walked one after the other. Zeroed but for the first four. */
struct detail {
	int64_t from, to;
	uint32_t points; /* 0: only sums */
	struct mixes *mixes; /* of all lines together */

	struct drawn_line *line; /* being walked */
	/* what is too short to be a run of its own, so far */
	struct {
		int64_t from, to, ns[DRAWN_KINDS];
		bool any;
	} pending;
	int64_t *shares; /* of a group: points x DRAWN_KINDS */
	int error;
};

/* Each fills the line's runs and sums. 0 or -ENOMEM. */
int detail_thread(struct detail *d, const struct thread_line *thread, struct drawn_line *line);
/* Several threads as one: at each point what all of them did together. */
int detail_group(struct detail *d, const struct timeline *t, const uint32_t *threads, size_t n, struct drawn_line *line);
/* `chosen`: the process (tgid) whose own use is distinguished; 0 = no one's. */
int detail_cpu(struct detail *d, const struct timeline *t, uint32_t cpu, uint32_t chosen, struct drawn_line *line);
void detail_free(struct detail *d);
