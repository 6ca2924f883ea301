/* PAD's threshold rules, as they are evaluated: whatever they were written in. */
#pragma once

#include "fleet/model/fleet-view.h"
#include "lib/data/vec.h"

enum threshold_statistic { OF_ANY, OF_EVERY, OF_AVERAGE, OF_MEDIAN, OF_MINIMUM, OF_MAXIMUM, OF_QUANTILE };
enum threshold_operator { IS_GREATER, IS_GREATER_EQUAL, IS_LESS, IS_LESS_EQUAL, IS_EQUAL, IS_UNEQUAL };

struct fleet_threshold {
	char *counter; /* a shell pattern */
	enum fleet_view_kind view;
	enum threshold_statistic statistic; /* of the values of a server, of a time point, or (detail) of all */
	double quantile;
	bool z_score; /* the value's distance from the mean of all values of the view, in their standard deviations */
	enum threshold_operator operator;
	double expected;
	bool percent_of; /* `expected` is a percentage of this statistic of all the counter's values */
	enum threshold_statistic of;
	int64_t lasting; /* ns that values of one server break it without a break; 0 = one is enough; OF_ANY of a detail view alone */
	size_t others; /* how many of the list behind this one must be broken at the same place, too ("and"); they count for nothing else */
	bool alternative; /* with its others it is the same rule as the one before ("or"): a place is reported once */
	char *words;   /* as it is reported in a finding */
};

struct fleet_thresholds {
	VEC(struct fleet_threshold) list;
};
void fleet_thresholds_free(struct fleet_thresholds *t);
/* Rules, of which each may have several comparisons. */
size_t fleet_thresholds_rules(const struct fleet_thresholds *t);
