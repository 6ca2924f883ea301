/* Who calls whom among the servers of a fleet, or among the components that it measures. */
#pragma once

#include "lib/data/vec.h"

struct fleet_call {
	int caller, callee; /* indexes of servers */
};

struct fleet_calls {
	VEC(struct fleet_call) list;
};
