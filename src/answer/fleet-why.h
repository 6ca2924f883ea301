/* The five steps chained: a symptom, since when, which servers are unusual, what moved with it, what led, and what that
 * usually means. */
#pragma once

#include "analysis/fleet-analysis.h"
#include "rule/cause.h"

struct fleet_answer {
	int server, counter;	    /* the symptom */
	bool found_symptom;	    /* it was not given: the most unusual counter of the most unusual server */
	bool found_server, found_window; /* not given: found */
	struct fleet_span window;
	struct fleet_finding symptom;  /* against what is usual for it */
	struct fleet_findings alarms;  /* servers */
	struct fleet_findings explain; /* counters, by how much of the symptom they explain */
	struct fleet_findings unusual; /* counters, by how unusual they are */
	const struct cause *cause; /* NULL = none of the known */
	char *summary;
};

/* q: symptom (-1: to be found), window and usual time. 0, -ENODATA, -ENOMEM. */
int fleet_why_answer(const struct fleet_question *q, const struct causes *causes, struct fleet_answer *ret);
void fleet_answer_free(struct fleet_answer *a);
