/* Whom an answer about a fleet names first: among what explains a symptom about equally well, what calls no other such one, or
 * what moved first. */
#pragma once

#include "fleet/model/fleet-calls.h"
#include "fleet/model/fleet-finding.h"

#define LEAD_SCORE 0.5 /* of an explanation, at least */
#define LEAD_EQUAL 0.7 /* of the best one's score: what stands closer together is told apart by time */
#define LEAD_CALLS 0.95 /* the same for calls, which also link what moved by chance */
#define LEAD_ROWS  20  /* that are compared: with fewer no order in time is believed */

/* Moves the lead to the front of the explanations (highest score first) of the symptom's counter. Candidates are the best counters of servers
 * with at least LEAD_SCORE and LEAD_EQUAL (LEAD_CALLS) of the best. With `calls` (may be NULL): the best one of those from which no
 * other candidate is called, directly or through others; of fewer than LEAD_ROWS rows a callee counts by the symptom's quantity
 * alone, another one moves with it by chance or because of the caller (its requests); but what that one calls, and moved at least a row
 * before it, leads from LEAD_EQUAL of the best score on. Without calls the one whose trouble began at
 * least a row before the best one's. Of the chosen server it is the counter that began first of those that explain about as much. Where the symptom is one of calls
 * to the server `called` (-1: it is not), what calls that server is late because of it, and no candidate. True: the front explains the symptom.
 * 0 or 1, or -ENOMEM. */
int fleet_find_lead(const struct fleet *f, const struct fleet_calls *calls, int symptom, int called, struct fleet_findings *explain);

/* Whether a server calls another one, directly or through others. 0 or 1, or -ENOMEM. */
int fleet_server_calls(const struct fleet *f, const struct fleet_calls *calls, int caller, int callee);
