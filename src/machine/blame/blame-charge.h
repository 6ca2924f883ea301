/* Within blame: one step of the walk, charged. */
#pragma once

#include "lib/data/hmap.h"
#include "machine/blame/wait-walk.h"
#include "machine/events/blame.h"

#define OWNERS_MAX 64 /* different culprits of one piece of time; what others did goes to the last one's account */

/* Shares of one piece of time among several. */
struct owners {
	struct {
		uint32_t thread;
		int64_t weight;
	} v[OWNERS_MAX];
	size_t n;
	int64_t total;
};


typedef void (*charge_fn)(void *user, const struct step *step, enum blamed by, uint32_t id, int64_t ns, uint8_t flags);

#define INTERRUPTS 64 /* numbers that the short way knows */

/* The commonest charge, and its short way: another thread or an interrupt had the CPU that the victim was queued on, and the victim's
 * cell for it is there already. */
struct queue_cells {
	struct blame_matrix *matrix;
	uint32_t *cells; /* by queue_cells_place(), index + 1; up to `first`: another victim's */
	size_t first, threads, places;
};

/* Threads, interrupts, soft interrupts; the last place is everybody else's, and always 0. */
static inline size_t queue_cells_place(const struct queue_cells *q, enum blamed by, uint32_t id)
{
	if (by == BY_TASK)
		return id;
	if ((by == BY_IRQ || by == BY_SOFTIRQ) && id < INTERRUPTS)
		return q->threads + (by == BY_IRQ ? 0 : INTERRUPTS) + id;
	return q->threads + 2 * INTERRUPTS;
}

struct charger {
	const struct timeline *timeline;
	struct hmap allocators, dirtiers; /* what is asked for again and again: (tenth of a second, unit) -> struct owners */
	charge_fn charge;
	void *user;
	const struct step *step; /* being charged */
	const struct queue_cells *known; /* NULL = there is no short way */
	uint32_t *segments; /* by CPU: where the last look for a segment ended */
	struct walk_work *work; /* NULL = without bound */
	int64_t sampled; /* ns charged by samples, because there was no work left */
};

/* 0 or -ENOMEM; to be closed in any case. */
int charger_open(struct charger *c, const struct timeline *t, charge_fn charge, void *user);
void charger_close(struct charger *c);
/* Charges all of step's time, exactly. */
void charger_step(struct charger *c, const struct step *step);

static inline void charger_cell_add(struct blame_cell *cell, int64_t ns)
{
	cell->ns += ns;
	cell->parts++;
	if (ns > cell->longest)
		cell->longest = ns;
}

static inline void charger_add(struct charger *c, enum blamed by, uint32_t id, int64_t ns, uint8_t flags)
{
	if (ns > 0)
		c->charge(c->user, c->step, by, id, ns, flags | (c->step->flags & STEP_INFERRED ? BLAME_INFERRED : 0));
}

/* Charges ns in proportion to the weights: nothing is lost by rounding. False when there is none. */
bool owners_charge(struct charger *c, const struct owners *o, int64_t ns);
/* A thread's part; what the kernel does for others is charged on: paging out to those who freed memory in the second
 * before, writing back to those who dirtied pages in the half minute before, in proportion. */
void owners_add_cause(struct charger *c, struct owners *o, uint32_t thread, bool write, int64_t at, int64_t weight);

void charger_disk(struct charger *c, const struct step *step);
