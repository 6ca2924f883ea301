/* Which deployment on a fleet an incident may come from. */
#pragma once

#include "lib/input/deployments.h"

enum fleet_deployed_verdict {
	DEPLOYMENT_MAY_BE, /* the cause: it came before the incident, on the culprit or on what it depends on */
	DEPLOYMENT_LATER,  /* than the incident's beginning */
	DEPLOYMENT_EARLIER, /* so long before it that it would have shown */
	DEPLOYMENT_ELSEWHERE, /* on a server that fell ill later than the culprit, or not at all, or that no calls connect with it */
};

struct fleet_deployed {
	struct deployment what; /* lent */
	enum fleet_deployed_verdict verdict;
	double score;  /* comparable within one answer */
	int64_t ahead; /* ns before the incident began */
};
