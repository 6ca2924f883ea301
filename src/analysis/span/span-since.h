/* Since when requests of a bucket take longer or shorter, all versions together, and whether that is over. */
#pragma once

#include "stat/change.h"
#include "timeline/forest/forest.h"

#define SINCE_LEAST .05 /* of the mean: a change over time that is told */
#define SINCE_LEVEL .01 /* of all buckets that are looked at together: each is asked for its part of it */

struct span_since {
	struct change change; /* durations in ns */
	int64_t since, until; /* wall ns; until 0 = it goes on */
	/* what to hold against what, [from, to) with 0 = no bound: whole days of it or its only hours against the same hours of the day
	 * before, as far as both are there; else all of it against all before */
	int64_t from, to, against_from, against_to;
};

/* Looks at the means of the bucket's slots of time, beside the cycle of a day where half of one is there; p is to be `level` at
 * most. */
bool span_since_find(const struct bucket *b, double level, struct span_since *ret);
/* Of all selected buckets the change for the worse that cost most; NULL `selected` = all. */
bool span_since_worst(const struct forest *f, bool (*selected)(const struct forest *f, const struct bucket *b), struct span_since *ret);
