/* Incidents by their edges, mainly of all servers at once.
 *
 * A daily cycle moves all of them, too, and may reach farther than a fault: it lies far from normal, but without a step. A common incident is therefore
 * looked for by its edges: the median of the servers, each in multiples of its own median, steps from one level to another at a row. An edge counts
 * where it is far larger than such steps normally are, and larger than nearly all others of the data (what steps every night steps every night),
 * and nearly all of the servers took it. The incident lasts to the edge that leads back, or to the end of the data, and is less than half of them.
 * Where the servers have none in common, those of single ones are looked for in the same way.
 */
#pragma once

#include "fleet/model/fleet-answer.h"
#include "fleet/model/fleet-finding.h"

struct fleet_common {
	int counter;
	size_t servers; /* 1: it is its own; else those that do the same work, or of the fleet, of which nearly all took the edge */
	bool *members; /* by server of the fleet: it is one of them */
	double score; /* the edge, in multiples of what steps normally are */
	struct fleet_span span;
};

/* The incident with the highest score of which the window has a part, and which has the half of the window or begins in it; of `counter`, or of any (-1);
 * `similar`: of servers that do the same work alone, as what befalls others at once may be a chain. 0, -ENODATA (none), -ENOMEM. The caller frees ret->members. */
int fleet_common_find(const struct fleet *f, int counter, bool similar, struct fleet_span window, struct fleet_common *ret);
/* Appends all incidents that several servers have in common, an interval for each of the servers. 0, -ENODATA (the servers have no rows in common), -ENOMEM. */
int fleet_common_each(const struct fleet *f, struct fleet_stretches *all);
