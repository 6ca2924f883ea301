/* Servers that do the same work, and a counter relative to them. */
#pragma once

#include "fleet/analysis/fleet-baseline.h"
#include "fleet/model/server-role.h"
#include "lib/data/vec.h"

#define FLEET_PEERS_MIN SERVER_STEM_MIN

struct fleet_peers {
	VEC(int) group; /* by server; numbers from 0 */
	size_t groups;
	size_t largest; /* servers in the largest group */
};

/* By role where it is known, else by name without its numbers and hashes (server-role.h) among servers with the same counters. Servers
 * of one role, or whose names are addresses, are not peers where they behave unlike one another (fleet-peers.c). 0 or -ENOMEM. */
int fleet_peers_find(const struct fleet *f, struct fleet_peers *ret);
void fleet_peers_free(struct fleet_peers *p);

/* By server: its column divided by its normal median, less the median of its peers' at the nearest time; NULL where it has
 * fewer than FLEET_PEERS_MIN of them. */
struct fleet_relative {
	float **v;
	size_t n;
};
/* 0, -ENODATA (no one has peers), -ENOMEM. */
int fleet_relative_find(const struct fleet *f, const struct fleet_peers *p, const struct fleet_baseline_rows *usual, size_t counter,
			struct select_room *room, struct fleet_relative *ret);
void fleet_relative_free(struct fleet_relative *r);
