/* Programs that wait for another one, by the flight recorder's charges. Who writes to a slower one always waits for it, and that is how the two
 * work together: it counts as far as the victim waits in such calls beyond its usual. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/robust.h"

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
	struct program *p = hmap_get(&r->by_key, hash_text(one->victim), 0);
	double charged = charged_alike(r->q->charges, one);

	if (!p || !(charged > 0))
		return 0;
	if (one->how == CHARGE_UNREAD && !program_is_new(r, p))
		return fmin(1, more_waited(r, p, FEATURE_WAIT_PEER) / 1e9 / charged);
	return isnan(one->before) ? NO_PAST : fmax(0, 1 - one->before / charged);
}

int weigh_peers(struct robust *r)
{
	const struct charges *c = r->q->charges;

	if (!c || !c->list.n)
		return 0;
	r->peer = calloc(c->list.n, sizeof(*r->peer));
	if (!r->peer)
		return -ENOMEM;
	for (size_t i = 0; i < c->list.n; i++) {
		if (c->list.v[i].of == BOTTLENECK_PEER)
			r->peer[i] = c->list.v[i].seconds * unusual_part(r, &c->list.v[i]);
		r->peer_total += r->peer[i];
	}
	return 0;
}

double guilt_of_peer(const struct robust *r, const struct program *p)
{
	double sum = 0;

	for (size_t i = 0; r->peer_total > 0 && i < r->q->charges->list.n; i++)
		if (strcmp(r->q->charges->list.v[i].culprit, p->key) == 0)
			sum += r->peer[i] / r->peer_total;
	return r->shortage[BOTTLENECK_PEER] * sum;
}
