/* Buckets together: all of them, and those with the same value of a dimension (one kind of hardware) or the same request, where each has too
 * few requests. Buckets and kinds of requests stay apart: only like is held against like, and what differs within them is summed.
 */
#pragma once

#include <math.h>

#include "analysis/span/span-division.h"
#include "model/span/span-change.h"
#include "timeline/forest/forest.h"

#define POOL_TESTS    4	    /* of a bucket or pool: its mean, its tail, what is slow for its kind, its errors */
#define POOL_POWER_Z  1.645 /* of SPAN_POWER */
#define POOL_SHARES_P .05   /* that shares of kinds moved by chance, below which quantiles of all of them say nothing */
#define POOL_MANY     1.5   /* times as many requests fail, or are in the tail, at least ... */
#define POOL_LEAST    .005  /* ... and this share of all requests more */

/* c->all and c->pools, without buckets: what of the change is within kinds. 0 or -ENOMEM. */
int span_pool_find(const struct forest *f, struct span_change *c);
/* Their p, of what is known of the buckets. */
void span_pool_test(const struct forest *f, struct span_change *c);
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

/* Is one of the tests that decided the bucket's q sure by itself? */
static inline bool span_pool_is_sure(double level, double q, double p)
{
	return q <= level && POOL_TESTS * p <= level;
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
