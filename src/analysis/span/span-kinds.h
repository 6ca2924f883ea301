/* Requests of a finished forest with two sides (analysis/span/span-change.h), as kinds: which attributes tell apart what
 * became slower, and how many requests there are of each combination of them.
 */
#pragma once

#include "analysis/span/span-cause.h"
#include "base/data/hmap.h"
#include "base/data/vec.h"

#define KEYS_MAX    512 /* attributes that are counted at all */
#define KEYS_LOOKED 12	/* ... and searched */

/* All requests with the same attributes, of both sides. */
struct kind {
	struct moments side[2];
};

struct kind_table {
	const struct forest *f;
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
int kind_table_fill(const struct forest *f, struct kind_table *ret, struct span_causes *into);
void kind_table_free(struct kind_table *k);
/* ns, of all requests that these stand for */
double moments_sum(const struct moments *m);
