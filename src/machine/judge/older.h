/* What is usual, from the time before the dataset, of which only summaries are read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/stat/quantiles.h"
#include "lib/stat/robust.h"

/* One feature of one program over an hour, say. */
struct older_stretch {
	int64_t from, to;	       /* wall ns */
	double seconds;		       /* recorded in it */
	double members;		       /* how many of its processes were there, on average */
	struct distribution of_member; /* of one process's values */
};

#define STRETCH_POINTS 4

/* A stretch as values of blocks, weighed in blocks: the sum over its members, and how far that strays.
 * Members and (of counters) seconds are taken as independent of each other. */
void older_stretch_points(const struct older_stretch *s, bool counter, double block_seconds,
		    struct weighted_value points[STRETCH_POINTS]);
/* How many of its blocks reached a value, about; a fraction. */
double older_stretch_blocks_above(const struct older_stretch *s, double value, double block_seconds);
/* Runs of stretches, oldest first, of which a block or more reached the value. */
uint32_t older_stretch_episodes(const struct older_stretch *s, size_t n, double value, double block_seconds);
/* The highest value that may have been. */
double older_stretch_highest(const struct older_stretch *s);
