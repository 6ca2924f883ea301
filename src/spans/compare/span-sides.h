/* The two sides of a comparison of requests, as one forest: of each bucket one group a side. */
#pragma once

#include "spans/forest/bucket-choice.h"

#define SPAN_VERSION_KEY " version" /* behind a package, among the attributes of the sides' leaves */

enum span_side { SIDE_NONE, SIDE_BASELINE, SIDE_CANDIDATE };

/* Gives *ret both sides of f: each bucket's groups put together by what `side` says. Neither is finished. */
int span_sides_of(const struct forest *f, enum span_side (*side)(void *state, const struct bucket *b, const struct forest_group *g),
		  void *state, struct forest *ret);
/* The same for two forests; of the chosen buckets. */
int span_sides_add(struct forest *ret, const struct forest *part, enum span_side side,
		   const struct bucket_choice *choice);
/* "baseline", "candidate": the value of the one attribute that the sides' groups have as versions. */
const char *span_side_name(enum span_side side);
/* The groups' versions: that attribute alone. */
uint32_t span_side_set(struct names *names, enum span_side side);
