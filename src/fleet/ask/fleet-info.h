/* The contents of a fleet's data: clocks, gaps, groups. */
#pragma once

#include "fleet/model/fleet-info.h"
#include "fleet/model/fleet.h"

/* literal: what the servers have in common by Equation 3 of PAD, as it stands. 0 or -ENOMEM. */
int fleet_info_find(const struct fleet *f, bool literal, struct fleet_info *ret);
void fleet_info_free(struct fleet_info *i);
