/* Who has stopped while it goes on being slow.
 *
 * A trouble is looked at as a whole, from where it began. What was big at its beginning and is over is not why it lasts, where
 * somebody goes on who is nearly as guilty; where nobody does, what comes after it may be its consequence.
 */
#include <math.h>

#include "lib/data/clock.h"
#include "machine/judge/robust.h"

#define JUST_NOW   (2 * NS_PER_SEC) /* a shorter pause is no end */
#define GOES_ON	   0.5 /* of what it does on average: who does so much has not stopped */
#define COMES_NEAR 0.3 /* of the guilt of who has stopped */
#define LEFT	   0.1 /* of that guilt: it was in the way for a while */

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

	return all > 0 ? fmin(1, fmax(LEFT, robust_program_now(&lately, p, (size_t)use->feature) / all / GOES_ON)) : 1;
}

void robust_apply_recency_decay(struct robust *r)
{
	double most = 0;

	for (size_t i = 0; i < r->verdicts.n; i++)
		most = fmax(most, r->verdicts.v[i].suspect.score * r->verdicts.v[i].still);
	for (size_t i = 0; i < r->verdicts.n; i++) {
		struct verdict *v = &r->verdicts.v[i];

		if (most >= COMES_NEAR * v->suspect.score)
			robust_weigh(v, EVIDENCE_SHARE, v->still);
	}
}
