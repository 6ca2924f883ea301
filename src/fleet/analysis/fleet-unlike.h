/* Servers of one role that behave unlike one another: a job of Prometheus may cover hosts of all kinds. */
#pragma once

#include "fleet/model/fleet.h"

/* Divides n servers (indices of the fleet) of a role: ret_part[i] is the part of servers[i], from 0; returns how many parts, or -ENOMEM.
 *
 * First by what they measure: a server that shares less than half of the metrics (names without labels) with the first of a part is of
 * another. Then by levels: where the medians of a counter leave a gap between two sides of SERVER_STEM_MIN servers or more
 * that is wider than each of them (without its outermost server), the counter votes for these two sides. Three counters and a quarter of
 * all that vary must vote for the same two; each of them is divided further. */
int fleet_unlike_divide(const struct fleet *f, const size_t *servers, size_t n, int *ret_part);
