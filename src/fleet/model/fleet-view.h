/* What the three views of a counter show: computed in fleet/analysis/fleet-views.c, drawn in view/. */
#pragma once

#include "fleet/model/fleet-finding.h"
#include "lib/data/vec.h"

struct fleet_summary {
	int server;   /* server view; -1 in the time view */
	int64_t time; /* time view: wall ns */
	double mean, median, sd, min, max, q05, q25, q75, q95;
	uint32_t n;
};

enum fleet_view_kind { FLEET_DETAIL_VIEW, FLEET_SERVER_VIEW, FLEET_TIME_VIEW };

struct fleet_view {
	enum fleet_view_kind kind;
	const struct fleet *fleet;
	int counter;
	int64_t ts, d; /* of the points: time correlation */
	uint32_t n;    /* points */
	size_t partly; /* servers that joined late or ended early: they count where they have rows */
	uint32_t each; /* moments of which a point is made; 1 = none was left out */
	VEC(struct fleet_summary) rows; /* server and time view */
	float *values;		       /* detail view: of each server n values (means, where `each` > 1), NaN = missing */
	float *low, *high;	       /* the least and the most of each value where `each` > 1; else NULL */
};

/* What a page about one answer shows; nothing is owned. */
struct fleet_page {
	const char *summary, *next; /* next may be NULL */
	struct fleet_span window;   /* what was judged */
	const struct fleet_finding *symptom;
	const struct fleet_finding *chain; /* n_chain of them, in the order in which they began */
	size_t n_chain;
	const struct fleet_findings *servers, *explained_by, *unusual;
};
