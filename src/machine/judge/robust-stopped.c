/* Who has stopped while it continues to be slow.
 *
 * An incident is looked at as a whole, from where it began. What was big at its beginning and is over is not why it lasts, where
 * another one continues that is nearly as guilty (ranking_weigh_recency()); where none does, what comes after it may be its consequence.
 */
#include <math.h>

#include "lib/data/clock.h"
#include "machine/judge/robust.h"

#define JUST_NOW   (2 * NS_PER_SEC) /* a shorter pause is no end */
#define GOES_ON	   0.5 /* of what it does on average: who does so much has not stopped */

void robust_find_lately(struct robust *r)
{
	const struct moment *ticks = r->d->ticks.v;
	struct method_question *q = &r->lately;

	*q = *r->q;
	while (q->focus < q->at && ticks[q->at].boot - ticks[q->focus].boot >= JUST_NOW)
		q->focus++;
}

/* What is held is still there, and waits are what it suffers. */
static bool is_over_when_it_stops(const struct use *use)
{
	return !use->is_wait && !use->of_memory && !(use->scale > 0);
}

double robust_still(const struct robust *r, const struct program *p, const struct use *use)
{
	const struct robust lately = {.d = r->d, .q = &r->lately};
	double all = is_over_when_it_stops(use) ? robust_program_now(r, p, (size_t)use->feature) : 0;

	return all > 0 ? fmin(1, fmax(RECENCY_LEAST, robust_program_now(&lately, p, (size_t)use->feature) / all / GOES_ON)) : 1;
}
