/* Buckets together: all of them, and those with the same value of a dimension (one kind of hardware) or the same request, where each has too
 * few requests. Buckets and kinds of requests stay apart: only like is held against like, and what differs within them is summed.
 */
#pragma once

#include <math.h>

#include "spans/compare/span-division.h"
#include "spans/forest/forest.h"
#include "spans/model/span-change.h"

/* The tests of a bucket or pool share its level: its mean, what is slow for its kind, its tail, its errors. A tail that is slow for
 * its kind, too, and many errors are far beyond chance, so that they need less of it. */
#define POOL_MEAN   .35
#define POOL_SLOW   .4
#define POOL_TAIL   .05
#define POOL_ERRORS .2
#define POOL_POWER_Z  1.645 /* of SPAN_POWER */
#define POOL_SHARES_P .05   /* that shares of kinds moved by chance, below which quantiles of all of them say nothing */
#define POOL_MANY     1.5   /* times as many requests fail, or are in the tail, at least ... */
#define POOL_LEAST    .005  /* ... and this share of all requests more */

/* c->all and c->pools, without buckets: what of the change is within kinds. 0 or -ENOMEM. */
int span_pool_find(const struct forest *f, struct span_change *c);
/* Their p, of what is known of the buckets. */
void span_pool_test(const struct forest *f, struct span_change *c);
/* Load that wanders makes all requests slower at a time, and so the rise of one bucket or pool less sure. Where all of them together are not
 * surely slower, the others tell how much of it that was. Two-sided p of the rise within kinds without that, and *ret_shift. */
double span_pool_shift_p(const struct span_change *c, const struct span_slow *s, double *ret_shift);
/* Its q is known; z: that a p of the level has. */
void span_pool_judge(const struct span_change *c, double z, struct pool_change *p);

static inline void span_pool_add_key(uint32_t *keys, size_t *n, size_t most, uint32_t key)
{
	for (size_t k = 0; k < *n; k++)
		if (keys[k] == key)
			return;
	if (*n < most)
		keys[(*n)++] = key;
}

/* p of all four tests (Bonferroni, by their shares of the level). */
static inline double span_pool_p(double mean, double slow, double tail, double errors)
{
	return fmin(1, fmin(fmin(mean / POOL_MEAN, slow / POOL_SLOW), fmin(tail / POOL_TAIL, errors / POOL_ERRORS)));
}

/* Is a test that has this share of the level, of those that decided the bucket's q, sure by itself? */
static inline bool span_pool_is_sure(double level, double q, double p, double share)
{
	return q <= level && p / share <= level;
}

/* One-sided, of two figures that may have risen or fallen: that of the first one's direction, by their signs and two-sided p. */
static inline double span_pool_two_ways(double first, double p_first, double second, double p_second)
{
	double p = second * first >= 0 ? p_second / 2 : 1 - p_second / 2;

	return fmin(1, 2 * fmin(p_first / 2, p));
}

static inline bool span_pool_is_much_more(double before, double after, double least)
{
	return after >= before + least && after >= POOL_MANY * before;
}

/* A rise is reported if it is beyond chance, and beyond what is tolerated. */
static inline double span_pool_seen_by_mean(double error, double mean, double z, double least)
{
	return fmax((z + POOL_POWER_Z) * error, least * mean + POOL_POWER_Z * error) / mean;
}
