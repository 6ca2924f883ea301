/* Deployments on a fleet, and which of them an incident may come from. */
#pragma once

#include <stdint.h>

#include "lib/data/vec.h"

enum fleet_deployment_verdict {
	DEPLOYMENT_MAY_BE, /* the cause: it came before the incident, on the culprit or on what it depends on */
	DEPLOYMENT_LATER,  /* than the incident's beginning */
	DEPLOYMENT_EARLIER, /* so long before it that it would have shown */
	DEPLOYMENT_ELSEWHERE, /* on a server that fell ill later than the culprit, or not at all, or that no calls connect with it */
};

struct fleet_deployment {
	char *service, *version, *commit; /* "" = not given */
	int64_t time; /* wall ns */
	/* (fleet/ask/fleet-deployed.h) */
	enum fleet_deployment_verdict verdict;
	double score;  /* comparable within one answer */
	int64_t ahead; /* ns before the incident began */
};

struct fleet_deployments {
	VEC(struct fleet_deployment) list;
};
