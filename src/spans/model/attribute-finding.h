/* The combinations of attribute values that explain a change, as spans/attribute/attributes.h finds them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/vec.h"

#define ATTRIBUTES_MAX 16
#define ATTRIBUTE_ANY  UINT32_MAX

/* One cause. */
struct element {
	uint32_t value[ATTRIBUTES_MAX]; /* ATTRIBUTE_ANY where it does not matter */
	unsigned fixed;			/* how many do */
	double observed, expected;	/* sums over its leaves not explained by elements before it */
	double exposure;		/* likewise; NaN for additive metrics */
	double share;			/* of the whole change: its own over all leaves' in that direction */
	double moved;			/* share of its leaves that moved, 0..1 */
	double shift;			/* r of those */
	double score;			/* nats above chance; > 0 */
	size_t leaves;
};

struct attribute_findings {
	VEC(struct element) elements; /* as found, the best first */
	double observed, expected, exposure; /* of all leaves */
	double explained; /* share of the change in its direction that the elements explain */
	double moved_outside; /* share of leaves that moved and belong to no element */
	double noise; /* the normal relative deviation of a leaf without counting noise */
	bool up;
	bool changed; /* false: no leaf, and not all together, moved beyond the noise */
	size_t elements_tried;
};
