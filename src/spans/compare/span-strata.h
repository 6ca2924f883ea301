/* Versions run at different times, and times differ: load has its hours, and what befell everybody befell the one that ran then. So
 * versions are compared at the same times: those at which both ran, where enough of it was; else at the same hours of the day, where
 * half a day or more of them is there. Times are short against the day where its requests allow that; else hours come first.
 */
#pragma once

#include "spans/compare/groups.h"
#include "spans/forest/forest.h"

#define STRATA_MOST  128
#define STRATA_WAYS  3	   /* to put requests into strata: the first that shares enough counts */
#define STRATA_BY_HOURS 1 /* the way that is of no time: hours of any day */
#define STRATA_SHARED .25  /* of a version's requests are to be in strata of others */
#define STRATUM_LEAST 5	   /* requests of the others in one that is compared */

struct strata {
	size_t n; /* 1 = none: all is one */
	int64_t first, width; /* wall ns */
	bool of_day;
};

/* [first, last) of all slots of a bucket's groups and the widest of them, wall ns. False: there are none. */
bool strata_times(const struct bucket *b, int64_t *ret_first, int64_t *ret_last, int64_t *ret_width);
/* By the way 0: parts of the bucket's whole time that are short against a day; 1: parts of the day, UTC; 2: parts of the whole time, of
 * whatever length. n = 1: the bucket has too few requests, too little time, or slots too coarse for it. */
struct strata strata_by(const struct bucket *b, int way);
/* Adds a group's calls of one vertex and their own time (ns), or its requests (NO_VERTEX) and their durations, in each of the strata: s->n
 * places. */
void strata_add(const struct strata *s, const struct forest_group *g, uint32_t vertex, double *counts, double *sums);
/* The share of a group's requests in strata where the others have STRATUM_LEAST. */
double strata_shared(const struct strata *s, const double *counts, const double *others);
/* groups_level() of a bucket's groups, which `groups` has in their order. By the hours of the day, if that leaves times alike: it holds
 * every version against every other, where times hold each against those before and after it. 1 = done, 0 = there is nothing to
 * level, -ENOMEM. */
int strata_level(const struct bucket *b, struct version_group *groups);
