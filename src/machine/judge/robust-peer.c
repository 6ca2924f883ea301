/* Programs that wait for another one, or for its lock, by the flight recorder's charges. Who writes to a slower one always waits for it, and who
 * shares a lock always waits a little: that is how the two work together. It counts as far as the victim waits so beyond its usual. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine/judge/robust.h"

#define SAME_WAIT 0.5 /* of what the events tell, at least, is in the sums that have the same wait */
#define NO_PAST 0.3 /* where nothing was seen before the trouble: whether it always waits like that nobody knows */

/* What a charge's victim waited in the same way, for whomever. */
static double charged_alike(const struct charges *c, const struct charge *one)
{
	double sum = 0;

	for (size_t i = 0; i < c->list.n; i++)
		if (c->list.v[i].how == one->how && strcmp(c->list.v[i].victim, one->victim) == 0)
			sum += c->list.v[i].seconds;
	return sum;
}

/* The part of a charge that is not usual, 0..1. Where the recorder's sums cannot tell, what the events have of the time before does. */
static double unusual_part(struct robust *r, const struct charge *one)
{
	struct program *p = hmap_get(&r->by_key, hmap_hash_text(one->victim), 0);
	double charged = charged_alike(r->q->charges, one);

	if (!p || !(charged > 0))
		return 0;
	if (one->how == CHARGE_UNREAD && !robust_program_is_new(r, p))
		return fmin(1, robust_more_waited(r, p, FEATURE_WAIT_PEER) / 1e9 / charged);
	return isnan(one->before) ? NO_PAST : fmax(0, 1 - one->before / charged);
}

/* Where the recorder's sums do not have what the events tell (who is stopped waits for no lock), all of it is new. */
static double unusual_of_lock(struct robust *r, const struct charge *one)
{
	struct program *p = hmap_get(&r->by_key, hmap_hash_text(one->victim), 0);
	size_t wait = one->how == CHARGE_INFERRED ? FEATURE_WAIT_CONDITION : FEATURE_WAIT_LOCK;
	double now = p ? robust_program_now(r, p, wait) / 1e9 : NAN;

	if (one->how == CHARGE_STOPPED || !(now >= SAME_WAIT * one->seconds))
		return 1;
	return fmin(1, robust_more_waited(r, p, wait) / 1e9 / now);
}

int robust_weigh_news(struct robust *r)
{
	const struct charges *c = r->q->charges;

	if (!c || !c->list.n)
		return 0;
	r->news = calloc(c->list.n, sizeof(*r->news));
	if (!r->news)
		return -ENOMEM;
	for (size_t i = 0; i < c->list.n; i++) {
		const struct charge *one = &c->list.v[i];

		if (one->of == BOTTLENECK_PEER)
			r->news[i] = one->seconds * unusual_part(r, one);
		else if (one->of == BOTTLENECK_LOCK)
			r->news[i] = one->seconds * unusual_of_lock(r, one);
		r->new_of[one->of] += r->news[i];
	}
	return 0;
}

double robust_share_of_news(const struct robust *r, const struct program *p, enum bottleneck of)
{
	double sum = 0;

	if (!(r->new_of[of] > 0))
		return NAN;
	for (size_t i = 0; i < r->q->charges->list.n; i++)
		if (r->q->charges->list.v[i].of == of && strcmp(r->q->charges->list.v[i].culprit, p->key) == 0)
			sum += r->news[i];
	return fmin(1, sum / r->new_of[of]);
}
