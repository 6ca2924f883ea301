/* Which requests became slower: the combinations of attributes that identify and explain it, whatever the buckets are made of.
 *
 * SDiag (section 4) leaves it as future work to find by what to bucket. Here requests are told apart by all attributes of
 * their roots, processes, inventories and versions at once (the forest's leaves). What each kind of request would have taken is
 * told by the baseline: its own mean, leaning on the product of what each attribute does by itself where it was seen little.
 * attributes_search() then looks for what moved; sums of durations are scaled to have a count's variance, so that a kind with
 * few requests says little. Attributes that are finer than that, the same everywhere, the same as another, or all new on the
 * candidate's side are not looked at.
 */
#pragma once

#include "analysis/span/attributes.h"
#include "timeline/forest/forest.h"

#define CAUSE_LEAST 0.2 /* of the rise explained, below which it is not told as a cause */

#define CAUSE_TRACES 3 /* requests that show a cause, linked by their ids */

/* One request to look at. */
struct cause_trace {
	uint64_t high, low; /* private */
	char *id; /* as trace_id_text() has it */
	int64_t duration;
};

struct span_cause {
	struct attribute terms[ATTRIBUTES_MAX]; /* the same as texts; value 0 = (none) */
	size_t n_terms;
	struct cause_trace traces[CAUSE_TRACES]; /* the slowest of the candidate's sample, slowest first */
	size_t n_traces;
	char *where; /* "hardware.generation = gen6 and agent version = 1.7.0" */
	double requests;
	double mean, expected; /* ns */
	double share;	       /* of the rise of all requests, at most 1 */
	double moved;	       /* share of its kinds of requests that became slower */
	size_t kinds;
};

struct span_causes {
	VEC(struct span_cause) list; /* the one that explains most first */
	VEC(char *) looked_at;	     /* attributes */
	VEC(char *) replaced;	     /* "agent version = 1.7.0 (1.6.0 and 3 others before)": on all of the candidate's, none of the baseline's */
	size_t kinds, tried;
	double mean, expected; /* ns, of all requests of the candidate's side that could be compared */
	double explained;      /* share of the rise */
	bool sampled; /* found in a sample of the requests, with the attributes of what they call */
	bool searched;
	bool alike;	       /* all kinds became slower by the same: no attribute tells them apart */
};

/* Attributes of calls count where those of whole requests explain less than half. `f` has the two sides as span_sides_of() makes them, finished. Without attributes to look at, or with too few requests,
 * looked_at is empty. 0 or -ENOMEM. */
int span_causes_find(const struct forest *f, struct span_causes *ret);
void span_causes_free(struct span_causes *c);
