/* Which hours of the day requests are of: a version that ran at the busiest hours only is not slow for that. */
#pragma once

#include "analysis/groups.h"
#include "timeline/forest.h"

#define SPAN_PHASES 24 /* of a day, UTC */

/* How many phases of the day can be told apart in a bucket; 1 = its requests are of less than half a day, or were summed too
 * coarsely: nothing is taken out. */
size_t span_phases(const struct bucket *b);
/* Adds a group's requests and their durations (ns) of each of `phases` of the day. */
void span_phase_add(const struct group *g, size_t phases, double *counts, double *sums);
/* groups_level() of a bucket's groups, which `groups` has in their order. 1 = done, 0 = there is nothing to take out, -ENOMEM. */
int span_phase_level(const struct bucket *b, struct version_group *groups);
