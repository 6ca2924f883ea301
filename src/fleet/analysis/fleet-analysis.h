/* An analysis of many servers: one const table in one file, one row in fleet-analysis.c. */
#pragma once

#include "fleet/model/fleet-finding.h"
#include "lib/stat/columns.h"
#include "lib/system/parallel.h"

struct fleet_analysis {
	const char *name;
	const char *help; /* one line */
	/* Fills *ret, sorted. 0, -ENOMEM, -ENODATA (nothing to compare with), -EINVAL (a symptom is needed). */
	int (*run)(const struct fleet_question *q, struct fleet_findings *ret);
};

const struct fleet_analysis *fleet_analysis_find(const char *name);

/* Servers as by the analysis "alarm" in *ret, and all counters as by "deviation" in *ret_each, for little more than one of them takes. About
 * all servers and counters: q->server and q->counter are -1. 0 or as of an analysis; free both in either case. */
int fleet_alarm_and_deviation(const struct fleet_question *q, struct fleet_findings *ret, struct fleet_findings *ret_each);

/* The window and all of the rest as a question about all servers and counters, with defaults. */
struct fleet_question fleet_question_default(const struct fleet *f);

/* Pieces of a counter: each server's rows in a span. Returns how many; `pieces` has room for all servers. */
size_t fleet_pieces(const struct fleet *f, size_t counter, struct fleet_span span, struct piece *pieces);
/* The statistic that was asked for. */
double fleet_statistic_of(const struct fleet_question *q, const struct piece *pieces, size_t n, struct select_room *room);
