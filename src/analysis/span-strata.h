/* Versions run at different times, and times differ: load has its hours, and what befell everybody befell whoever ran then. So
 * versions are compared at the same times: those at which both ran, where enough of it was; else at the same hours of the day, where
 * half a day or more of them is there.
 */
#pragma once

#include "analysis/groups.h"
#include "timeline/forest.h"

#define STRATA_MOST  24
#define STRATA_SHARED .25 /* of a version's requests are to be in strata of others */
#define STRATUM_LEAST 5 /* requests of the others in one that is compared */

struct strata {
	size_t n; /* 1 = none: all is one */
	int64_t first, width; /* wall ns */
	bool of_day;
};

/* Parts of the bucket's whole time. */
struct strata strata_of_time(const struct bucket *b);
/* Parts of the day, UTC; one if its requests are of less than half a day, or were summed too coarsely. */
struct strata strata_of_day(const struct bucket *b);
/* Adds a group's requests and their durations (ns) in each of the strata: s->n places. */
void strata_add(const struct strata *s, const struct group *g, double *counts, double *sums);
/* The share of a group's requests in strata where the others have STRATUM_LEAST. */
double strata_shared(const struct strata *s, const double *counts, const double *others);
/* groups_level() of a bucket's groups, which `groups` has in their order. 1 = done, 0 = there is nothing to level, -ENOMEM. */
int strata_level(const struct bucket *b, struct version_group *groups);
