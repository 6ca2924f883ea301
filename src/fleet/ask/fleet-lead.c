#include "fleet/ask/fleet-lead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/model/counter-name.h"
#include "lib/data/cleanup.h"

#define CANDIDATES_MAX 32 /* more that explain a symptom equally well cannot be distinguished */

struct candidates {
	size_t at[CANDIDATES_MAX]; /* in the explanations, highest score first */
	size_t n;
};

static bool has_server(const struct candidates *c, const struct fleet_findings *e, int server)
{
	for (size_t i = 0; i < c->n; i++)
		if (e->list.v[c->at[i]].server == server)
			return true;
	return false;
}

static void find_candidates(const struct fleet_findings *e, double equal, struct candidates *c)
{
	for (size_t i = 0; i < e->list.n && c->n < CANDIDATES_MAX; i++) {
		const struct fleet_finding *x = &e->list.v[i];

		if (x->score < LEAD_SCORE || x->score < equal * e->list.v[0].score)
			return;
		if (!has_server(c, e, x->server))
			c->at[c->n++] = i;
	}
}

/* Whether it can be the cause of what calls it. */
static bool counts_below(const struct fleet *f, const struct fleet_finding *x, int symptom)
{
	return x->n >= LEAD_ROWS || counter_same_quantity(f->counters.v[x->counter].name, f->counters.v[symptom].name);
}

/* Marks all that a server calls, directly or through others. */
static void mark_called(const struct fleet_calls *calls, int server, bool *called)
{
	for (size_t i = 0; i < calls->list.n; i++) {
		const struct fleet_call *x = &calls->list.v[i];

		if (x->caller != server || called[x->callee])
			continue;
		called[x->callee] = true;
		mark_called(calls, x->callee, called);
	}
}

int fleet_server_calls(const struct fleet *f, const struct fleet_calls *calls, int caller, int callee)
{
	_cleanup_free_ bool *called = calloc(f->servers.n + 1, sizeof(*called));

	if (!called)
		return -ENOMEM;
	mark_called(calls, caller, called);
	return called[callee];
}

static int leave_out_callers(const struct fleet *f, const struct fleet_calls *calls, int called, const struct fleet_findings *e, struct candidates *c)
{
	size_t n = c->n;

	c->n = 0;
	for (size_t i = 0; i < n; i++) {
		int server = e->list.v[c->at[i]].server, r = server == called ? 0 : fleet_server_calls(f, calls, server, called);

		if (r < 0)
			return r;
		if (!r)
			c->at[c->n++] = c->at[i];
	}
	return 0;
}

/* Whether a server calls another candidate that does not call it back. */
static int calls_a_candidate(const struct fleet *f, const struct fleet_calls *calls, const struct candidates *c, const struct fleet_findings *e,
			     int symptom, int server)
{
	_cleanup_free_ bool *called = calloc(f->servers.n + 1, sizeof(*called));

	if (!called)
		return -ENOMEM;
	mark_called(calls, server, called);
	for (size_t i = 0; i < c->n; i++) {
		int other = e->list.v[c->at[i]].server, back;

		if (other == server || !called[other] || !counts_below(f, &e->list.v[c->at[i]], symptom))
			continue;
		back = fleet_server_calls(f, calls, other, server);
		if (back <= 0)
			return back < 0 ? back : 1;
	}
	return 0;
}

static int lead_by_calls(const struct fleet *f, const struct fleet_calls *calls, const struct candidates *c, const struct fleet_findings *e,
			 int symptom)
{
	for (size_t i = 0; i < c->n; i++) {
		int r = calls_a_candidate(f, calls, c, e, symptom, e->list.v[c->at[i]].server);

		if (r <= 0)
			return r < 0 ? r : (int)i;
	}
	return 0;
}

/* The place in the explanations of the callee of the lead that explains about as much and moved first, before the lead; `at` (the lead's)
 * where there is none; -ENOMEM. */
static int callee_that_moved_first(const struct fleet *f, const struct fleet_calls *calls, const struct fleet_findings *e, size_t at)
{
	_cleanup_free_ bool *called = calloc(f->servers.n + 1, sizeof(*called));
	struct candidates c = {};
	size_t lead = at;

	if (!called)
		return -ENOMEM;
	find_candidates(e, LEAD_EQUAL, &c);
	mark_called(calls, e->list.v[at].server, called);
	for (size_t i = 0; i < c.n; i++) {
		const struct fleet_finding *x = &e->list.v[c.at[i]];

		if (called[x->server] && x->n >= LEAD_ROWS && x->since && x->since <= e->list.v[lead].since - f->interval)
			lead = c.at[i];
	}
	return (int)lead;
}

static int lead_by_time(const struct fleet *f, const struct candidates *c, const struct fleet_findings *e)
{
	int lead = 0;

	for (size_t i = 1; i < c->n; i++) {
		const struct fleet_finding *x = &e->list.v[c->at[i]], *first = &e->list.v[c->at[lead]];

		if (x->n >= LEAD_ROWS && x->since && x->since <= first->since - f->interval)
			lead = (int)i;
	}
	return lead;
}

/* Several counters of the leading server may explain about as much: this is the one that became unusual first. */
static size_t first_of_server(const struct fleet *f, const struct fleet_findings *e, size_t best)
{
	size_t first = best;

	for (size_t i = 0; i < e->list.n; i++) {
		const struct fleet_finding *x = &e->list.v[i];

		if (x->server == e->list.v[best].server && x->n >= LEAD_ROWS && x->score >= LEAD_SCORE && x->score >= LEAD_EQUAL * e->list.v[best].score &&
		    x->since && x->since <= e->list.v[first].since - f->interval)
			first = i;
	}
	return first;
}

int fleet_find_lead(const struct fleet *f, const struct fleet_calls *calls, int symptom, int called, struct fleet_findings *explain)
{
	struct candidates c = {};
	struct fleet_finding front;
	bool by_calls = calls && calls->list.n;
	size_t at;
	int lead;

	find_candidates(explain, by_calls ? LEAD_CALLS : LEAD_EQUAL, &c);
	lead = by_calls && called >= 0 ? leave_out_callers(f, calls, called, explain, &c) : 0;
	if (lead < 0 || !c.n)
		return lead;
	lead = by_calls ? lead_by_calls(f, calls, &c, explain, symptom) : lead_by_time(f, &c, explain);
	if (lead >= 0 && by_calls)
		lead = callee_that_moved_first(f, calls, explain, c.at[lead]);
	else if (lead >= 0)
		lead = (int)c.at[lead];
	if (lead < 0)
		return lead;
	at = first_of_server(f, explain, (size_t)lead);
	front = explain->list.v[at];
	memmove(&explain->list.v[1], &explain->list.v[0], at * sizeof(front));
	explain->list.v[0] = front;
	return 1;
}
