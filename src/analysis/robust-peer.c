/* Programs that wait for another one, by the flight recorder's charges. Who writes to a slower one always waits for it, and that is how the two
 * work together: it counts as far as the victim waits in such calls beyond its usual. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/robust.h"

#define NO_PAST 0.3 /* of a victim of which nothing was seen before the trouble: whether it always waits like that nobody knows */

/* *ret_before: what it waited like that before the trouble; NaN = not known. */
static double charged_to_peers(const struct charges *c, const char *victim, double *ret_before)
{
	double sum = 0;

	*ret_before = NAN;
	for (size_t i = 0; i < c->list.n; i++) {
		if (c->list.v[i].of != BOTTLENECK_PEER || strcmp(c->list.v[i].victim, victim) != 0)
			continue;
		sum += c->list.v[i].seconds;
		*ret_before = c->list.v[i].before;
	}
	return sum;
}

/* Of what a victim waited for others, the part that is not usual, 0..1. */
static double unusual_part(struct robust *r, const char *victim)
{
	struct program *p = hmap_get(&r->by_key, hash_text(victim), 0);
	double before, charged = charged_to_peers(r->q->charges, victim, &before);

	if (!p)
		return 0;
	if (program_is_new(r, p))
		return isnan(before) ? NO_PAST : fmax(0, 1 - before / charged);
	return fmin(1, more_waited(r, p, FEATURE_WAIT_PEER) / 1e9 / charged);
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
			r->peer[i] = c->list.v[i].seconds * unusual_part(r, c->list.v[i].victim);
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
