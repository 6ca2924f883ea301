/* Servers that do the same work, and a counter relative to them. */
#pragma once

#include "analysis/fleet/fleet-baseline.h"
#include "base/data/vec.h"
#include "model/fleet/fleet.h"

#define FLEET_PEERS_MIN 4 /* fewer cannot outvote one that is ill */

struct fleet_peers {
	VEC(int) group; /* by server; numbers from 0 */
	size_t groups;
	size_t largest; /* servers in the largest group */
};

/* By role where it is given and tells servers apart; else by name without its numbers and hashes (web-01, web-02; frontend-579b9bff58-t2dbm) among
 * servers that are measured alike. 0 or -ENOMEM. */
int fleet_peers_find(const struct fleet *f, struct fleet_peers *ret);
void fleet_peers_free(struct fleet_peers *p);
/* The name without what tells one of many from the next. The caller frees; NULL without memory. */
char *fleet_name_stem(const char *name);

/* By server: its column divided by its usual median, less the median of its peers' at the nearest time; NULL where it has
 * fewer than FLEET_PEERS_MIN of them. */
struct fleet_relative {
	float **v;
	size_t n;
};
/* 0, -ENODATA (nobody has peers), -ENOMEM. */
int fleet_relative_find(const struct fleet *f, const struct fleet_peers *p, const struct fleet_baseline_rows *usual, size_t counter,
			struct select_room *room, struct fleet_relative *ret);
void fleet_relative_free(struct fleet_relative *r);
