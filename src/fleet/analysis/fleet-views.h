#pragma once

#include "fleet/model/fleet-threshold.h"

/* A counter in one of the three views, over the window. 0, -ENODATA, -ENOMEM, -E2BIG (fleet-align.h). */
int fleet_view_find(const struct fleet *f, int counter, struct fleet_span window, enum fleet_view_kind kind, struct fleet_view *ret);
void fleet_view_free(struct fleet_view *v);
/* Detail and time view: in at most so many points, and of a detail view in no more values than can be drawn, each made of
 * as many moments. 0 or -ENOMEM; a view without values (an engine's time view) stays as it is. */
int fleet_view_reduce(struct fleet_view *v, uint32_t points);

/* Who breaks the rules: a finding for each server, time point or value, the farthest beyond its threshold first (score: the
 * distance as a share of the threshold). At most `most` of each rule are listed, what is beyond is counted in ret->left_out.
 * 0, -ENOENT with *ret_missing set to a rule's counter that no one has, -ENOMEM. */
int fleet_check(const struct fleet *f, struct fleet_span window, const struct fleet_thresholds *rules, size_t most,
		struct fleet_findings *ret, const char **ret_missing);
