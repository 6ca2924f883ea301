/* Counters of calls: "frontend_cartservice" of a service mesh, a probe or a table of flows measures what one server asks of another. */
#pragma once

#include "fleet/model/fleet-calls.h"
#include "fleet/model/fleet-finding.h"

struct counter_calls {
	struct fleet_call *of;	/* by counter; caller and callee -1: its name tells of no call */
	bool *observer;		/* by server: it measures calls between others only, and does no work itself */
	size_t n;		/* counters of calls */
};

/* Reads the names of all counters. A counter is one of a call whose name holds the names of exactly two servers as whole words, with or
 * without what tells one of many from the next (server-role.h), where one server alone bears it. The caller is the first, except
 * where words or labels before the second say otherwise (destination="cart",source="web"; cart_from_web). 0 or -ENOMEM; free it in either case. */
int counter_calls_find(const struct fleet *f, struct counter_calls *ret);
void counter_calls_free(struct counter_calls *c);
/* A finding about a counter of a call that another server than the called one measures becomes one of the called server. */
void counter_call_attribute(const struct counter_calls *c, struct fleet_finding *x);
