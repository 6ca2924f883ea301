/* Which deployment an incident comes from. */
#pragma once

#include "fleet/model/fleet-answer.h"
#include "fleet/model/fleet-calls.h"
#include "fleet/model/fleet-deployment.h"

/* Judges each deployment by what an answer found, and sorts them: those that may be the cause, best first, then the others by time. One on the culprit's
 * server counts most; one on another server counts where that fell ill no later than the culprit and, where calls are known, is connected with it by them. A
 * deployment shows soon after it, while servers are still restarted: of several of one service shortly after each other the first one counts, as the next
 * one meets what it began. Of two at one time the last in the list replaced the other. Appends to a->summary which one it is, or that it is none. `calls` may be
 * empty. *ret has as many as `d`, whose texts it shares (free() it). 0 or -ENOMEM. */
int fleet_deployed_rank(const struct fleet *f, const struct fleet_calls *calls, struct fleet_answer *a, const struct deployments *d, struct fleet_deployed **ret);
/* "", or why a deployment is not the cause. */
const char *fleet_deployed_why_not(const struct fleet_deployed *d);
