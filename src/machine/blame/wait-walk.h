/* One walk over intervals: what was a thread doing from when to when, and where it waited for another thread, what was
 * that one doing in the meantime, and so on to the end. The critical path (path.h) prints the steps, blame (blame.h) charges
 * them; both are Perfetto's walk: the blocked part [a, b) of a thread that W woke becomes W's [a, b) one deeper, so
 * that times only shrink on the way down.
 *
 * A lock with known holders is followed through them instead of its waker: split where the holder changes. A wakeup
 * from interrupt context is not followed: `current` was a bystander.
 *
 * Among thousands of threads that wake one another, a wait leads through everything that all of them did in the meantime: waits x events
 * visits. walk_work bounds that. A chain that has used up its part ends at the thread where it is (STEP_CUT).
 */
#pragma once

#include "machine/events/interval.h"

#define WALK_DEPTH 24 /* longer chains end in unknown and are counted */

enum step_flags {
	STEP_CYCLE = 1,	   /* came back to a thread that is already in the chain */
	STEP_DEEP = 2,	   /* the chain is longer than WALK_DEPTH */
	STEP_INFERRED = 4, /* somewhere on the way a holder was concluded, not seen */
	STEP_BLOCKED = 8,  /* ends in a wait: nothing is known that could be followed */
	STEP_CUT = 16,	   /* ends at this thread because the work is bounded: what it waited for is not looked at */
};

struct step {
	int64_t from, to;
	uint32_t thread;
	const struct interval *interval; /* of that thread; NULL = it did not exist or is not known then. As `top` valid
					  * during the call only: of a wait cut in pieces it has the true end's waker */
	const struct interval *top;	 /* at depth 0: what the thread asked about was doing */
	uint32_t victim;		 /* the thread asked about */
	uint32_t via;			 /* the first thread after the one asked about; NOBODY at depth 0 */
	uint8_t depth;
	uint8_t flags;
};

typedef void (*step_fn)(void *user, const struct step *step);

/* How many intervals, segments of CPUs and sightings of locks may be visited: each wait adds its part, in proportion to its length;
 * what one leaves, later ones may use. */
struct walk_work {
	double per_ns;
	uint64_t left;
	uint64_t cut; /* chains that ended for want of it */
};

#define WORK_MAX    (1u << 20) /* visits of one question: each about 0.2 us where threads do not lie near each other */
#define WORK_A_WAIT 4	       /* ... and so many more for each wait, however short */

static inline struct walk_work walk_work_for(int64_t waits_ns)
{
	return (struct walk_work){.per_ns = (double)WORK_MAX / (double)(waits_ns > 0 ? waits_ns : 1)};
}

/* False: there is nothing left. */
static inline bool walk_work_take(struct walk_work *w)
{
	if (w && !w->left)
		return false;
	if (w)
		w->left--;
	return true;
}

struct walker {
	const struct timeline *timeline;
	step_fn step;
	void *user;
	bool waits; /* only waits of the thread asked about: what else it did is left out */
	uint32_t *near; /* by thread: where the last look at it ended, so that the next one begins there; zeros at first. May be NULL */
	struct walk_work *work; /* NULL = without bound */
};

/* Calls `step` for every part of [from, to): the parts neither overlap nor leave anything out, in the order of time. */
void walker_thread(const struct walker *w, uint32_t thread, int64_t from, int64_t to);
