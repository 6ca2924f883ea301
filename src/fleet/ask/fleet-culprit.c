#include "fleet/ask/fleet-culprit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/model/counter-call.h"
#include "fleet/model/counter-name.h"
#include "lib/data/cleanup.h"

#define EQUAL 0.7 /* of the best explanation: time and calls distinguish what is closer together */
#define EQUAL_CALLED 0.95 /* the same for calls, which also link what moved by chance */
#define FARTHER 1.25 /* times as far from normal as the symptom's server: it is more than an echo of it */
#define NEARLY 0.2 /* the same of what began before it */
#define EARLIER 2 /* rows before it */
#define FIRST_NEARLY 0.8 /* times as far from normal as the first of the list */
#define FIRST_EARLIER 2 /* rows */
#define AS_FAR	0.5 /* of the server's most unusual counter: what is nearer to normal began by chance */
#define ROWS 20 /* that are compared: with fewer no order in time is believed */
#define UNUSUAL 3.0 /* of a candidate's own deviation */

struct decision {
	const struct fleet *f;
	const struct fleet_calls *calls;
	const struct fleet_answer *a;
	double *far; /* by server: the score of its most unusual counter */
	bool *reaches; /* by server: it calls the symptom's server, directly or through others */
};

/* A counter of calls counts for the server that is called, as for the one that has it. */
static int find_far(struct decision *d)
{
	struct counter_calls calls;
	int r = counter_calls_find(d->f, &calls);

	for (size_t i = 0; r == 0 && i < d->a->unusual.list.n; i++) {
		const struct fleet_finding *x = &d->a->unusual.list.v[i];
		int callee = calls.of[x->counter].callee;

		d->far[x->server] = fmax(d->far[x->server], x->score);
		if (callee >= 0)
			d->far[callee] = fmax(d->far[callee], x->score);
	}
	if (r == 0)
		counter_calls_free(&calls);
	return r;
}

static void mark_callers(const struct fleet_calls *calls, int server, bool *marks)
{
	VEC_EACH(x, calls->list) {
		if (x->callee != server || marks[x->caller])
			continue;
		marks[x->caller] = true;
		mark_callers(calls, x->caller, marks);
	}
}

static int symptom_server(const struct fleet_answer *a)
{
	return a->called >= 0 ? a->called : a->symptom.server;
}

/* Whether another server's counter may be what made the symptom's server ill. */
static bool may_lead(const struct decision *d, const struct fleet_finding *x)
{
	int own = symptom_server(d->a);
	bool ordered = x->n >= ROWS && x->since && d->a->symptom.since;
	int64_t earlier = ordered ? d->a->symptom.since - x->since : 0;

	if (x->server == own || x->score < CULPRIT_EXPLAINS || d->reaches[x->server] || d->far[x->server] < UNUSUAL || earlier <= -d->f->interval)
		return false;
	if (d->a->called >= 0 && x->server == d->a->symptom.server)
		return false;
	return d->far[x->server] >= FARTHER * d->far[own] || (earlier >= EARLIER * d->f->interval && d->far[x->server] >= NEARLY * d->far[own]);
}

/* 0 or 1, or -ENOMEM. `calls` may be NULL. */
static int is_called_by(const struct fleet *f, const struct fleet_calls *calls, int callee, int caller)
{
	_cleanup_free_ bool *callers = calls && calls->list.n ? calloc(f->servers.n + 1, sizeof(*callers)) : NULL;

	if (!calls || !calls->list.n)
		return 0;
	if (!callers)
		return -ENOMEM;
	mark_callers(calls, callee, callers);
	return callers[caller];
}

/* Whether `x` goes before `best`: it began rows before it, or explains as much and is called by it. With few rows a callee counts by the symptom's
 * quantity alone: another one moves with it by chance, or because of the caller (its requests). */
static int goes_before(const struct decision *d, const struct fleet_finding *x, const struct fleet_finding *best)
{
	const char *symptom = d->f->counters.v[d->a->symptom.counter].name;

	if (x->n >= ROWS && x->since && x->since <= best->since - d->f->interval)
		return 1;
	if (x->score < EQUAL_CALLED * best->score || (x->n < ROWS && !counter_same_quantity(d->f->counters.v[x->counter].name, symptom)))
		return 0;
	return is_called_by(d->f, d->calls, x->server, best->server);
}

/* The place in the explanations of the one that leads, or -1. */
static int find_lead(const struct decision *d)
{
	const struct fleet_findings *e = &d->a->explain;
	int lead = -1, r;

	for (size_t i = 0; i < e->list.n; i++) {
		const struct fleet_finding *x = &e->list.v[i];

		if (lead >= 0 && x->score < EQUAL * e->list.v[0].score)
			break;
		if (!may_lead(d, x))
			continue;
		r = lead < 0 ? 1 : goes_before(d, x, &e->list.v[lead]);
		if (r < 0)
			return r;
		lead = r ? (int)i : lead;
	}
	return lead;
}

/* A counter of the symptom's own server that explains it and began rows before it; -1: the symptom itself. */
static int find_own(const struct decision *d)
{
	const struct fleet_answer *a = d->a;

	for (size_t i = 0; i < a->explain.list.n; i++) {
		const struct fleet_finding *x = &a->explain.list.v[i];

		if (x->server == symptom_server(a) && x->score >= CULPRIT_EXPLAINS && x->n >= ROWS && x->since && x->since <= a->symptom.since - d->f->interval)
			return (int)i;
	}
	return -1;
}

static void move_to_front(struct fleet_findings *e, size_t at)
{
	struct fleet_finding front = e->list.v[at];

	memmove(&e->list.v[1], &e->list.v[0], at * sizeof(front));
	e->list.v[0] = front;
}

static int decide(const struct decision *d, struct fleet_answer *a)
{
	int lead = a->found_symptom || !a->unusual_symptom ? -1 : find_lead(d);

	if (lead == -ENOMEM)
		return lead;
	a->led = lead >= 0;
	if (lead < 0 && !a->found_symptom && a->unusual_symptom)
		lead = find_own(d);
	a->named = a->unusual_symptom;
	a->culprit = lead >= 0 ? a->explain.list.v[lead] : a->symptom;
	if (lead >= 0)
		move_to_front(&a->explain, (size_t)lead);
	else if (a->called >= 0) {
		a->culprit.measured_on = a->symptom.server;
		a->culprit.server = a->called;
		a->culprit.flags |= FLEET_CALLED;
	}
	return 0;
}

int fleet_culprit_find(const struct fleet *f, const struct fleet_calls *calls, struct fleet_answer *a)
{
	struct decision d = {f, calls, a, calloc(f->servers.n + 1, sizeof(double)), calloc(f->servers.n + 1, sizeof(bool))};
	int r = d.far && d.reaches ? find_far(&d) : -ENOMEM;

	if (r == 0)
		mark_callers(calls, symptom_server(a), d.reaches);
	r = r ?: decide(&d, a);
	FREE_ALL(d.far, d.reaches);
	return r;
}

int fleet_culprit_since(const struct fleet *f, const struct fleet_findings *unusual, int64_t *ret_since)
{
	_cleanup_free_ double *most = calloc(f->servers.n + 1, sizeof(*most));

	if (!most)
		return -ENOMEM;
	for (size_t i = 0; i < f->servers.n; i++)
		ret_since[i] = INT64_MAX;
	VEC_EACH(x, unusual->list) {
		most[x->server] = fmax(most[x->server], x->score);
		if (x->score >= fmax(UNUSUAL, AS_FAR * most[x->server]) && x->since && x->since < ret_since[x->server])
			ret_since[x->server] = x->since;
	}
	return 0;
}

/* Whether the incident began with `x` rather than with `best`, which is farther from normal or about as far. */
static int begins_before(const struct fleet *f, const struct fleet_calls *calls, const int64_t *since, const struct fleet_finding *x, const struct fleet_finding *best)
{
	int64_t of_x = since[x->server] < x->since ? since[x->server] : x->since, of_best = since[best->server] < best->since ? since[best->server] : best->since;

	if (!x->since || !best->since || x->score < FIRST_NEARLY * best->score || of_x > of_best)
		return 0;
	if (of_best - of_x >= FIRST_EARLIER * f->interval)
		return 1;
	return is_called_by(f, calls, x->server, best->server);
}

int fleet_culprit_first(const struct fleet *f, const struct fleet_calls *calls, const struct fleet_findings *alarms, const struct fleet_findings *unusual, int server)
{
	_cleanup_free_ int64_t *since = calloc(f->servers.n + 1, sizeof(*since));
	struct fleet_finding first;
	size_t best = 0;

	if (!since || fleet_culprit_since(f, unusual, since) < 0)
		return -ENOMEM;
	while (best < alarms->list.n && server >= 0 && fleet_finding_column(&alarms->list.v[best]) != server)
		best++;
	if (best == alarms->list.n)
		return -1;
	first = alarms->list.v[best];
	for (size_t i = 0; i < alarms->list.n; i++) {
		struct fleet_finding b = alarms->list.v[best];
		int r;

		if (i == best)
			continue;
		b.score = first.score;
		r = begins_before(f, calls, since, &alarms->list.v[i], &b);
		if (r < 0)
			return r;
		best = r ? i : best;
	}
	return (int)best;
}
