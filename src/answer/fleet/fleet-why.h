/* The five steps chained: a symptom, since when, which servers are unusual, what moved with it, what led, and what that
 * usually means. */
#pragma once

#include "analysis/fleet/fleet-analysis.h"
#include "model/fleet/fleet-calls.h"
#include "rule/cause.h"

#define FLEET_CHAIN_MAX 8 /* more is no chain that a person follows */

struct fleet_answer {
	int server, counter;	    /* the symptom */
	bool found_symptom;	    /* it was not given: the most unusual counter of the most unusual server */
	bool found_server, found_window; /* not given: found */
	struct fleet_span asked;  /* the window that was given or found, within the data */
	struct fleet_span window; /* what was judged: the trouble begins with it, perhaps before the one asked about */
	struct fleet_finding symptom;  /* against what is usual for it */
	double now, normal_p95; /* of the symptom: its median since it began; the 95th percentile of the usual time */
	bool led; /* explain's first entry is named as the cause */
	struct fleet_findings alarms;  /* servers */
	struct fleet_findings explain; /* counters, by how much of the symptom they explain; the lead first (fleet-lead.h) */
	struct fleet_finding chain[FLEET_CHAIN_MAX]; /* the symptom, and each server's best explanation, in the order in which they began */
	size_t n_chain;
	struct fleet_findings unusual; /* counters, by how unusual they are */
	const struct cause *cause; /* NULL = none of the known */
	char *summary;
};

/* q: symptom (-1: to be found), window and usual time. `calls` may be NULL. 0, -ENODATA, -ENOMEM. */
int fleet_why_answer(const struct fleet_question *q, const struct causes *causes, const struct fleet_calls *calls, struct fleet_answer *ret);
void fleet_answer_free(struct fleet_answer *a);
