/* Requests of a finished forest with two sides (spans/compare/span-change.h), as kinds: which attributes tell apart what
 * became slower, and how many requests there are of each combination of them.
 */
#pragma once

#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "spans/compare/span-cause.h"

#define KEYS_MAX    512 /* attributes that are counted at all */
#define KEYS_LOOKED 12	/* ... and searched */

/* Which requests are held against which, and by what. */
struct kind_query {
	/* Which side a request of the sample is on: 0, 1, or -1 = none. The sample knows the calls of each request and their attributes; an
	 * attribute that a request does not have stands for "does not go through that call". NULL: all requests, by their leaves, each on
	 * the side of its group (spans/compare/span-sides.h). */
	int (*side)(const void *state, const struct bucket *b, const struct forest_group *g, const struct sampled_request *r);
	const void *state;
	bool without_versions; /* which version did it is known: those that only ran at the same time are not looked at */
	bool shares; /* attributes are chosen by how they tell the sides apart, not by how durations differ */
};

/* By the side of its group. */
int kind_side_of_group(const void *forest, const struct bucket *b, const struct forest_group *g, const struct sampled_request *r);

/* All requests with the same attributes, of both sides. */
struct kind {
	struct moments side[2];
};

struct kind_table {
	const struct forest *f;
	const struct kind_query *query;
	struct hmap mark_keys; /* (call, attribute) -> text "call: attribute", or "goes through call" */
	struct hmap of_calls;  /* those texts */
	uint32_t keys[KEYS_MAX];
	struct hmap key_of; /* text -> place */
	size_t n_keys;
	VEC(struct kind) all;
	uint32_t *values; /* all x n_keys: texts, 0 = it does not say */
	uint32_t looked[KEYS_LOOKED]; /* places of keys, by how much they tell apart */
	size_t n_looked;
	/* of the attributes that are looked at, one after another */
	size_t n;
	uint32_t *codes;	      /* n x n_looked */
	uint32_t *texts[KEYS_LOOKED]; /* code -> text */
	uint32_t n_texts[KEYS_LOOKED];
	struct kind *v;
};

/* Chooses the attributes; those looked at, and those of which the candidate has values that the baseline does not know, go to
 * `into`. 0 or -ENOMEM; free it in either case. */
int kind_table_fill(const struct forest *f, const struct kind_query *query, struct kind_table *ret, struct span_causes *into);
/* Is this attribute (a text) one of a call, so that a request without it does not go through? */
bool kind_is_of_call(const struct kind_table *k, uint32_t key);
/* Does a request have these values (0 = none)? `k` may be one that was zeroed but for its forest. */
bool kind_agrees(struct kind_table *k, const struct bucket *b, const struct sampled_request *r, const struct attribute *terms, size_t n);
void kind_table_free(struct kind_table *k);
/* ns, of all requests that these stand for */
double kind_time(const struct moments *m);
