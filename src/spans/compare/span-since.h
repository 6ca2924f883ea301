/* Since when requests of a bucket take longer or shorter, or fail more often, all versions together, and whether that is over. */
#pragma once

#include "spans/forest/bucket-choice.h"
#include "spans/model/span-finding.h"

#define SINCE_LEAST .05 /* of the mean: a change over time that is reported */
#define SINCE_LEVEL .002 /* of all buckets that are looked at together: each is asked for its part of it */

/* Looks at the means of the bucket's slots of time, next to the cycle of a day where half of one is there; p is to be `level` at
 * most. */
bool span_since_find(const struct bucket *b, double level, struct span_since *ret);
/* The same for the share of the sampled requests that fail: only for the worse. */
bool span_since_find_failures(const struct bucket *b, double level, struct span_since *ret);
/* The change for the worse of the chosen buckets that cost most: failures first. */
bool span_since_worst(const struct forest *f, const struct bucket_choice *choice, struct span_since *ret);
