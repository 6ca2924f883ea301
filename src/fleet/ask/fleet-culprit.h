/* The one that an answer about a fleet names: the first candidate, from which the sentence follows. */
#pragma once

#include "fleet/model/fleet-answer.h"
#include "fleet/model/fleet-calls.h"

#define CULPRIT_EXPLAINS 0.5 /* of a symptom, at least */

/* When each server fell ill: the earliest beginning of its unusual counters that are about as far from normal as the farthest of them; INT64_MAX = it
 * did not. ret_since: by server. 0 or -ENOMEM. */
int fleet_culprit_since(const struct fleet *f, const struct fleet_findings *unusual, int64_t *ret_since);

/* Marks who calls `server`, directly or through others; called: whom it calls. */
void fleet_culprit_mark(const struct fleet_calls *calls, int server, bool called, bool *marks);

/* The place in `alarms` (in the order of their scores) of the one with which it began: of `server`, or the first one where that is -1; or one that
 * is nearly as far from normal and fell ill rows before it, or, of a list, as far and fell ill before it; or what that calls, if it has evidence of its own. -1: there is none; -ENOMEM. */
int fleet_culprit_first(const struct fleet *f, const struct fleet_calls *calls, const struct fleet_findings *alarms, const struct fleet_findings *unusual, int server);

/* Fills a->culprit and a->named from a->symptom, a->unusual and a->explain (in the order of their scores), and moves what is named to the front of
 * a->explain. Without a given symptom the symptom is the first candidate, and so the culprit: what moved with it is what it did. A given one lies at
 * its own server, unless a counter of another one explains it and either is farther from normal by CULPRIT_FARTHER or began rows before it: what is
 * only carried along is neither. A server that calls the symptom's (calls: may be empty; called: whom the symptom's calls go to, or -1) is not the
 * cause of what it calls; what it calls is, where that has evidence of its own: no later, and as much by the same quantity, or more by one that the caller does not measure. No culprit is named where nothing is unusual. 0 or -ENOMEM. */
int fleet_culprit_find(const struct fleet *f, const struct fleet_calls *calls, struct fleet_answer *a);
