/* Any selection of requests against the rest: a map of all by time and duration, and what tells those in a part of it from the others.
 *
 * All of it is of the forest's sample of requests (struct sampled_request). What tells the selected apart are combinations of attributes, those
 * of calls and the calls themselves among them: kinds of requests of which more are selected than chance lets, found by
 * attributes_search() over counts. Where their time goes is said by call: what the selected and the others spend there on the critical
 * path.
 */
#pragma once

#include "spans/compare/span-cause.h"
#include "spans/forest/bucket-choice.h"
#include "spans/model/span-selection.h"

#define SELECT_COLUMNS 96 /* of the map, at most: of time */
#define SELECT_ROWS    48 /* of duration */
#define SELECT_CALLS   20 /* listed, at most */

/* [from, to) of wall time and [low, high) of duration, ns; 0 = no bound. */
struct span_selection {
	int64_t from, to, low, high;
	bool failed; /* only those that failed */
	struct bucket_choice choice; /* which buckets are there at all */
	const struct forest *f; /* private */
};

/* 0 or -ENOMEM. */
int span_map_make(const struct forest *f, const struct span_selection *s, struct span_map *ret);
void span_map_free(struct span_map *m);
/* With nothing selected, or everything, the lists are empty. 0 or -ENOMEM. */
int span_select(const struct forest *f, const struct span_selection *s, struct span_differences *ret);
void span_differences_free(struct span_differences *d);
