/* The mean of what is summed and counted. */
#pragma once

#include "fleet/model/fleet.h"

/* For each pair of running sums NAME_sum and NAME_count, as Prometheus writes summaries and histograms, adds NAME_mean: rate(NAME_sum) / rate(NAME_count),
 * missing where nothing was counted. 0 or -ENOMEM. */
int counter_mean_add(struct fleet *f);
