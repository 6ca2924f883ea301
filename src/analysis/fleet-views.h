#pragma once

#include "model/fleet-threshold.h"

/* A counter in one of the three views, over the window. 0, -ENODATA, -ENOMEM. */
int fleet_view_find(const struct fleet *f, int counter, struct fleet_span window, enum fleet_view_kind kind, struct fleet_view *ret);
void fleet_view_free(struct fleet_view *v);

/* Who breaks the rules: a finding for each server, time point or value, the farthest beyond its threshold first (score: the
 * distance as a share of the threshold). At most `most` of each rule are listed, what is beyond is counted in ret->left_out.
 * 0, -ENOENT with *ret_missing set to a rule's counter that nobody has, -ENOMEM. */
int fleet_check(const struct fleet *f, struct fleet_span window, const struct fleet_thresholds *rules, size_t most,
		struct fleet_findings *ret, const char **ret_missing);
