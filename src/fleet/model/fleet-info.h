/* The contents of a fleet's data: clocks, gaps, servers that do the same work. Made in fleet/ask, shown by fleet/ask. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/vec.h"

/* A server's clock, by the distance of its rows from the points of the common time. */
struct fleet_clock {
	int64_t skew, drift; /* ns: fleet/analysis/fleet-align.h */
	int64_t off;	     /* ns from where most clocks are, where that is worth saying; 0 = it is not */
	uint32_t missing;    /* points without a row */
	bool drifts;	     /* so far that its rows are paired by index */
	bool late, ended;    /* it joined or ended apart from the others */
};

/* Servers that do the same work. */
struct fleet_group {
	size_t first, n; /* the first of them, and how many */
};

struct fleet_info {
	int64_t common;		 /* ns that the servers have in common */
	int64_t from, to;	 /* wall ns: where that is */
	bool by_index;		 /* points are counted from each one's first row in it: Equation 3 of PAD */
	uint32_t points, points_most; /* in it; 0 = they have too little in common, and there are no clocks */
	VEC(struct fleet_clock) clocks; /* as the fleet's servers */
	VEC(struct fleet_group) groups;
};
