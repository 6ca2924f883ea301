/* Requests of two sides in strata by their attributes, one attribute after another: what is compared within them does not depend on
 * which requests were asked for. Attributes that say how a request ended (a status) divide nothing: a regression moves them itself.
 */
#pragma once

#include <stdint.h>

#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "spans/model/forest.h"
#include "spans/model/names.h"

#define DIVISION_MOST  64 /* strata of a pair; an attribute with more values names single requests */
#define DIVISION_KNOWN .9 /* of the candidate's requests are to be in strata that the baseline has, too */

/* The two sides of a bucket, which are held against each other. */
struct span_pair {
	const struct forest_group *before, *after;
};

struct division_row {
	uint32_t set;
	int side; /* 0 = baseline, 1 = candidate */
	uint32_t stratum;
};

struct division {
	const struct names *names;
	VEC(struct division_row) rows;
	VEC(uint32_t) keys; /* texts */
	struct hmap known;  /* keys */
};

/* One more row, in the stratum of its pair. 0 or -ENOMEM. */
int division_add(struct division *d, uint32_t set, int side, size_t pair);
/* The stratum of each row if strata were divided by this attribute, to strata[rows]; their number, or -ENOMEM. */
int64_t division_by(const struct division *d, uint32_t key, uint32_t *strata);
/* Divides them. Their number, or -ENOMEM. */
int64_t division_take(struct division *d, uint32_t key);
/* The stratum of each row; their number. */
size_t division_taken(const struct division *d, uint32_t *strata);
void division_free(struct division *d);
