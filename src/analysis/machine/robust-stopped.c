/* Who has stopped while it goes on being slow.
 *
 * A trouble is looked at as a whole, from where it began. What was big at its beginning and is over is not why it lasts, where
 * somebody goes on who is nearly as guilty; where nobody does, what comes after it may be its consequence.
 */
#include <math.h>

#include "analysis/machine/robust.h"
#include "base/data/clock.h"

#define JUST_NOW   (2 * NS_PER_SEC) /* a shorter pause is no end */
#define GOES_ON	   0.5 /* of what it does on average: who does so much has not stopped */
#define COMES_NEAR 0.3 /* of the guilt of who has stopped */
#define LEFT	   0.1 /* of that guilt: it was in the way for a while */

/* The same trouble, of which only the last seconds are looked at. */
static struct robust just_now(const struct robust *r, struct question *q)
{
	const struct moment *ticks = r->d->ticks.v;
	struct robust now = *r;

	*q = *r->q;
	while (q->focus < q->at && ticks[q->at].boot - ticks[q->focus].boot >= JUST_NOW)
		q->focus++;
	now.q = q;
	now.focus_seconds = 0;
	for (uint32_t t = q->focus; t <= q->at; t++)
		now.focus_seconds += (double)ticks[t].span / 1e9;
	return now;
}

/* What is held is still there, what was written may be on its way to the disk yet, and waits are what it suffers. */
static bool is_over_when_it_stops(const struct use *use)
{
	return !use->is_wait && !use->of_memory && !(use->scale > 0) && use->feature != FEATURE_IO_WRITE_BYTES;
}

/* Of its guilt, what it goes on with. */
static double still_guilty(const struct robust *r, const struct robust *now, const struct verdict *v)
{
	double all = v->lock, still = v->lock;

	for (size_t i = 0; i < USES; i++) {
		size_t f = (size_t)uses[i].feature;
		double before = v->guilt[i] > 0 ? program_now(r, v->program, f) : 0;
		bool ends = is_over_when_it_stops(&uses[i]) && before > 0;

		all += v->guilt[i];
		still += v->guilt[i] * (ends ? fmin(1, program_now(now, v->program, f) / before / GOES_ON) : 1);
	}
	return all > 0 ? still / all : 1;
}

void apply_recency_decay(struct robust *r)
{
	struct question q;
	const struct robust now = just_now(r, &q);
	double most = 0;

	for (size_t i = 0; i < r->verdicts.n; i++) {
		struct verdict *v = &r->verdicts.v[i];

		v->still = still_guilty(r, &now, v);
		most = fmax(most, v->suspect.score * v->still);
	}
	for (size_t i = 0; i < r->verdicts.n; i++) {
		struct verdict *v = &r->verdicts.v[i];

		if (most >= COMES_NEAR * v->suspect.score)
			weigh(v, EVIDENCE_GOES_ON, fmax(LEFT, v->still));
	}
}
