#include "fleet/ask/fleet-culprit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/model/counter-call.h"
#include "fleet/model/counter-name.h"
#include "lib/data/cleanup.h"

#define EQUAL 0.7 /* of the best explanation: time distinguishes what is closer together */
#define FARTHER 1.25 /* times as far from normal as the symptom's server: it is more than an echo of it */
#define NEARLY 0.2 /* the same of what began before it */
#define EARLIER 2 /* rows before it */
#define FIRST_NEARLY 0.8 /* times as far from normal as the first of the list */
#define CALLED_NEARLY 0.4 /* times as far from normal as what calls it, by the same quantity ... */
#define CALLED_RISE 0.9 /* ... and times its rise */
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
	bool *called; /* by server: the other way round */
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

void fleet_culprit_mark(const struct fleet_calls *calls, int server, bool called, bool *marks)
{
	VEC_EACH(x, calls->list) {
		int other = called ? x->callee : x->caller;

		if ((called ? x->caller : x->callee) != server || marks[other])
			continue;
		marks[other] = true;
		fleet_culprit_mark(calls, other, called, marks);
	}
}

static const char *unit_of(const struct fleet_counter *c)
{
	const char *unit = c->unit ? c->unit : counter_unit_of_name(c->name);

	return unit ? unit : "";
}

/* Callers decide what a server is asked for. */
static bool is_throughput(const struct fleet_counter *c)
{
	const char *unit = unit_of(c), *per = strrchr(unit, '/');

	return strcmp(unit, "requests") == 0 || (per && strcmp(per, "/s") == 0);
}

/* The times of several calls add up in their caller, their shares do not. */
static bool is_duration(const struct fleet_counter *c)
{
	const char *unit = unit_of(c), *s = strchr(unit, 's');

	return s && !s[1] && s - unit <= 1;
}

static bool is_same_quantity(const struct fleet *f, const struct fleet_finding *a, const struct fleet_finding *b)
{
	return counter_same_quantity(f->counters.v[a->counter].name, f->counters.v[b->counter].name);
}

/* Whether `x`, of a server that `of`'s calls, is evidence that it began there: no later, and by the same quantity (a caller has no greater share of it), or,
 * where it does not measure that, farther from normal by another one. */
static bool is_own_evidence(const struct fleet *f, const struct fleet_findings *unusual, const struct fleet_finding *x, const struct fleet_finding *of)
{
	if (x->n < ROWS || x->score < UNUSUAL || (x->since && of->since && x->since > of->since + f->interval))
		return false;
	if (is_same_quantity(f, x, of))
		return x->score >= CALLED_NEARLY * of->score &&
		       (is_duration(&f->counters.v[x->counter]) || fabs(x->observed - x->usual) >= CALLED_RISE * fabs(of->observed - of->usual));
	if (x->score < of->score || is_throughput(&f->counters.v[x->counter]))
		return false;
	return !ANY_WHERE(i, unusual->list.n, unusual->list.v[i].server == x->server && is_same_quantity(f, &unusual->list.v[i], of));
}

/* A caller is not the cause of what it calls: goes from `from` (its score: how far it is from normal) to what it calls that has evidence of its own, the
 * farthest from normal, and on from there. ret: `from`, or one of `unusual`. 0 or -ENOMEM. */
static int descend(const struct fleet *f, const struct fleet_calls *calls, const struct fleet_findings *unusual, const struct fleet_finding *from, struct fleet_finding *ret)
{
	_cleanup_free_ bool *seen = calloc(f->servers.n + 1, sizeof(*seen)), *called = calloc(f->servers.n + 1, sizeof(*called));
	bool deeper = calls && calls->list.n;

	*ret = *from;
	if (!seen || !called)
		return -ENOMEM;
	while (deeper) {
		const struct fleet_finding of = *ret;

		deeper = false;
		seen[of.server] = true;
		memset(called, 0, f->servers.n);
		fleet_culprit_mark(calls, of.server, true, called);
		for (size_t i = 0; i < unusual->list.n && !deeper; i++) {
			const struct fleet_finding *x = &unusual->list.v[i];

			deeper = called[x->server] && !seen[x->server] && is_own_evidence(f, unusual, x, &of);
			*ret = deeper ? *x : of;
		}
	}
	return 0;
}

static int symptom_server(const struct fleet_answer *a)
{
	return a->called >= 0 ? a->called : a->symptom.server;
}

/* Whether another server's counter may be what made the symptom's server ill. What began before it is not believed of what it calls, whose requests it makes: that
 * has evidence of its own (descend()). */
static bool may_lead(const struct decision *d, const struct fleet_finding *x)
{
	int own = symptom_server(d->a);
	bool ordered = x->n >= ROWS && x->since && d->a->symptom.since;
	int64_t earlier = ordered ? d->a->symptom.since - x->since : 0;

	if (x->server == own || x->score < CULPRIT_EXPLAINS || d->reaches[x->server] || d->far[x->server] < UNUSUAL || earlier <= -d->f->interval)
		return false;
	if (d->a->called >= 0 && x->server == d->a->symptom.server)
		return false;
	return d->far[x->server] >= FARTHER * d->far[own] || (!d->called[x->server] && earlier >= EARLIER * d->f->interval && d->far[x->server] >= NEARLY * d->far[own]);
}

/* The place in the explanations of the one that leads, or -1: of those that explain about as much the one that began rows before the others. */
static int find_lead(const struct decision *d)
{
	const struct fleet_findings *e = &d->a->explain;
	int lead = -1;

	for (size_t i = 0; i < e->list.n; i++) {
		const struct fleet_finding *x = &e->list.v[i];

		if (lead >= 0 && x->score < EQUAL * e->list.v[0].score)
			break;
		if (may_lead(d, x) && (lead < 0 || (x->n >= ROWS && x->since && x->since <= e->list.v[lead].since - d->f->interval)))
			lead = (int)i;
	}
	return lead;
}

/* The same, or of what that calls, or the symptom's server, the one with which it began, where that explains the symptom; -ENOMEM. */
static int find_deepest_lead(const struct decision *d)
{
	const struct fleet_findings *e = &d->a->explain;
	int lead = find_lead(d), best = -1, r;
	struct fleet_finding from = lead >= 0 ? e->list.v[lead] : d->a->symptom, deepest;

	from.server = lead >= 0 ? from.server : symptom_server(d->a);
	from.score = d->far[from.server];
	r = descend(d->f, d->calls, &d->a->unusual, &from, &deepest);
	if (r < 0 || deepest.server == from.server)
		return r < 0 ? r : lead;
	for (size_t i = 0; i < e->list.n && e->list.v[i].score >= CULPRIT_EXPLAINS; i++)
		if (e->list.v[i].server == deepest.server && (best < 0 || e->list.v[i].counter == deepest.counter))
			best = (int)i;
	return best >= 0 ? best : lead;
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
	int lead = a->found_symptom || !a->unusual_symptom ? -1 : find_deepest_lead(d);

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
	struct decision d = {f, calls, a, calloc(f->servers.n + 1, sizeof(double)), calloc(f->servers.n + 1, sizeof(bool)), calloc(f->servers.n + 1, sizeof(bool))};
	int r = d.far && d.reaches && d.called ? find_far(&d) : -ENOMEM;

	if (r == 0)
		fleet_culprit_mark(calls, symptom_server(a), false, d.reaches);
	if (r == 0)
		fleet_culprit_mark(calls, symptom_server(a), true, d.called);
	r = r ?: decide(&d, a);
	FREE_ALL(d.far, d.reaches, d.called);
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

static double farthest_of(const struct fleet_findings *unusual, int server)
{
	double most = 0;

	VEC_EACH(x, unusual->list)
		if (x->server == server)
			most = fmax(most, x->score);
	return most;
}

/* The earliest beginning of `x` and of its server's counters that are so far from normal; INT64_MAX = none is known. */
static int64_t fell_ill(const struct fleet_findings *unusual, const struct fleet_finding *x, double least)
{
	int64_t since = x->since ? x->since : INT64_MAX;

	VEC_EACH(y, unusual->list)
		if (y->server == x->server && y->score >= least && y->since && y->since < since)
			since = y->since;
	return since;
}

/* Whether the incident began with `x` rather than with `best`: it is nearly as far from normal and fell ill rows before it, or (listed: `best` is the first of a list, which
 * may be in the order of levels) it is as far and fell ill before it. What is far from normal is the same for both: else a counter of the nearer one would count, and
 * the same one of the farther would not. */
static bool begins_before(const struct fleet *f, const struct fleet_findings *unusual, const struct fleet_finding *x, const struct fleet_finding *best, bool listed)
{
	double least = fmax(UNUSUAL, AS_FAR * fmin(farthest_of(unusual, x->server), farthest_of(unusual, best->server)));
	int64_t earlier = x->since && best->since ? fell_ill(unusual, best, least) - fell_ill(unusual, x, least) : 0;

	return (x->score >= FIRST_NEARLY * best->score && earlier >= FIRST_EARLIER * f->interval) || (listed && x->score >= best->score && earlier >= f->interval);
}

int fleet_culprit_first(const struct fleet *f, const struct fleet_calls *calls, const struct fleet_findings *alarms, const struct fleet_findings *unusual, int server)
{
	struct fleet_finding first, deepest;
	size_t best = 0;

	while (best < alarms->list.n && server >= 0 && fleet_finding_column(&alarms->list.v[best]) != server)
		best++;
	if (best == alarms->list.n)
		return -1;
	first = alarms->list.v[best];
	for (size_t i = 0; i < alarms->list.n; i++) {
		struct fleet_finding b = alarms->list.v[best];

		b.score = first.score;
		best = i != best && begins_before(f, unusual, &alarms->list.v[i], &b, server < 0) ? i : best;
	}
	if (descend(f, calls, unusual, &alarms->list.v[best], &deepest) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < alarms->list.n && deepest.server != alarms->list.v[best].server; i++)
		best = alarms->list.v[i].server == deepest.server ? i : best;
	return (int)best;
}
