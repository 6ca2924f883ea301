#include "fleet/ask/fleet-why.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "answer/fleet/fleet-lead.h"
#include "fleet/analysis/fleet-baseline.h"
#include "fleet/analysis/fleet-onset.h"
#include "fleet/ask/fleet-cause.h"
#include "fleet/ask/fleet-window.h"
#include "fleet/model/counter-call.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"

#define ENOUGH	 3.0  /* of a score, to be called unusual */
#define CONSPICUOUS 0.05 /* q of an alarm */
#define CONSPICUOUS_TWICE 0.0253 /* the same of each of two windows (Sidak) */
#define SHORT_ROWS 12 /* of a window that may begin too late */
#define LISTED	 1000

void fleet_answer_free(struct fleet_answer *a)
{
	fleet_findings_free(&a->alarms);
	fleet_findings_free(&a->explain);
	fleet_findings_free(&a->unusual);
	free(a->summary);
}

static bool window_given(const struct fleet_question *q)
{
	return q->window.from != INT64_MIN || q->window.to != INT64_MAX;
}

static int find_window(struct fleet_question *q, bool together, struct fleet_stretch *found, struct fleet_answer *a)
{
	int r;

	if (window_given(q))
		return 0;
	r = fleet_window_find(q, together, found);
	a->found_window = r == 0;
	if (r == 0)
		q->window = found->span;
	return r;
}

/* The symptom's server is where it is farthest from its baseline; its counter is the most unusual of the most unusual server. Where nothing was
 * given, it is what the search found: that knows the days and the peers. */
static int find_symptom(struct fleet_question *q, const struct fleet_stretch *found, struct fleet_answer *a)
{
	const struct fleet_findings *u = &a->unusual;
	size_t i = 0;

	a->found_symptom = q->counter < 0;
	a->found_server = q->server < 0;
	if (a->found_window && q->counter < 0 && q->server < 0) {
		q->server = found->server;
		q->counter = found->counter;
	}
	if (q->counter < 0 && q->server < 0 && a->alarms.list.n && !a->alarms.shortened) {
		const struct fleet_finding *x = a->alarms.list.v;

		q->server = fleet_finding_column(x);
		q->counter = x->counter;
	}
	while (i < u->list.n && ((q->counter >= 0 && u->list.v[i].counter != q->counter) || (q->server >= 0 && u->list.v[i].server != q->server)))
		i++;
	if (i == u->list.n)
		return -ENODATA;
	a->symptom = u->list.v[i];
	q->counter = a->symptom.counter;
	q->server = a->symptom.server;
	return 0;
}

static void name_since(int64_t since, struct str *s)
{
	char text[32];

	if (since)
		str_printf(s, " since %s", clock_format_rfc3339(since, text, sizeof(text)));
}

/* "disk_await_ms of db-1"; "web_db of mesh-1 (calls to db-1)". */
static void name_counter(const struct fleet *f, const struct fleet_finding *x, struct str *s)
{
	str_printf(s, "%s of %s", f->counters.v[x->counter].name, f->servers.v[fleet_finding_column(x)].name);
	if (x->flags & FLEET_CALLED)
		str_printf(s, " (calls to %s)", f->servers.v[x->server].name);
}

static void name_leader(const struct fleet *f, const struct fleet_answer *a, struct str *s)
{
	const struct fleet_finding *x = a->explain.list.v;
	char now[48], normal[48];

	if (a->began_first)
		str_puts(s, " It began before what moved with it.");
	if (!a->led)
		return;
	str_puts(s, " Most likely because of ");
	name_counter(f, x, s);
	str_printf(s, ": %s, normally %s,", fleet_value_text(f, x->counter, x->observed, now, sizeof(now)), fleet_value_text(f, x->counter, x->usual, normal, sizeof(normal)));
	name_since(x->since, s);
	str_putc(s, '.');
}

/* From link `i` on: one counter, of servers on which it began at the same time. */
static size_t count_alike(const struct fleet_answer *a, size_t i)
{
	size_t n = 1;

	while (i + n < a->n_chain && a->chain[i + n].counter == a->chain[i].counter && a->chain[i + n].since == a->chain[i].since)
		n++;
	return n;
}

/* The order in which they began, where the rows tell one. */
static void name_chain(const struct fleet *f, const struct fleet_answer *a, struct str *s)
{
	if (a->n_chain < 2 || a->chain[a->n_chain - 1].since - a->chain[0].since < f->interval)
		return;
	for (size_t i = 0, n; i < a->n_chain; i += n) {
		n = count_alike(a, i);
		str_printf(s, "%s %s of", i ? ", then" : " First", f->counters.v[a->chain[i].counter].name);
		for (size_t k = 0; k < n; k++)
			str_printf(s, "%s %s", k == 0 ? "" : k + 1 < n ? "," : " and", f->servers.v[fleet_finding_column(&a->chain[i + k])].name);
		name_since(a->chain[i].since, s);
	}
	str_putc(s, '.');
}

static void name_movers(const struct fleet *f, const struct fleet_answer *a, struct str *s)
{
	unsigned told = 0;

	for (size_t i = 0; i < a->explain.list.n && told < 3 && a->explain.list.v[i].score >= 0.5; i++) {
		const struct fleet_finding *x = &a->explain.list.v[i];

		str_puts(s, told++ ? ", " : " With it moved ");
		name_counter(f, x, s);
		str_printf(s, " (r %+.2f)", x->r);
	}
	str_puts(s, told ? "." : " Nothing else that is unusual moved with it.");
}

/* The list is in the order of scores; each server has its own rate of false alarms. */
static size_t count_conspicuous(const struct fleet_answer *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->alarms.list.n; i++)
		n += a->alarms.list.v[i].q <= CONSPICUOUS;
	return n;
}

static void name_servers(const struct fleet *f, const struct fleet_answer *a, struct str *s)
{
	size_t n = count_conspicuous(a), told = 0;

	if (!a->alarms.list.n || f->servers.n < 2 || isnan(a->alarms.list.v[0].p))
		return;
	if (!n)
		str_puts(s, " No server is conspicuous as a whole");
	else if (a->unusual_symptom)
		str_printf(s, " %zu of %zu servers %s conspicuous (q <= 0.05)", n, a->alarms.list.n, n == 1 ? "is" : "are");
	else
		str_printf(s, " Other counters are unusual then, of %zu server%s (q <= 0.05)", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < a->alarms.list.n && told < 4; i++)
		if (a->alarms.list.v[i].q <= CONSPICUOUS)
			str_printf(s, "%s %s", told++ ? "," : ":", f->servers.v[a->alarms.list.v[i].server].name);
	str_puts(s, n > 4 ? " and others." : ".");
}

/* The answer has the cause's id and its advice; NULL = none is known. */
static void set_cause(const struct cause *cause, struct fleet_answer *a)
{
	a->cause = cause ? cause->id : NULL;
	a->next = cause ? cause->next : NULL;
}

static void name_symptom(const struct fleet *f, const struct fleet_answer *a, struct str *s)
{
	const struct fleet_finding *x = &a->symptom;
	bool nothing = a->calm && a->found_symptom, lower = x->flags & FLEET_LOWER;
	char now[48], normal[48], p95[48];

	str_printf(s, "%s%s of %s", nothing ? "Nothing is unusual in this window. Farthest from normal is " : "", f->counters.v[x->counter].name,
		   f->servers.v[x->server].name);
	if (a->called >= 0)
		str_printf(s, " (calls to %s)", f->servers.v[a->called].name);
	if (!nothing)
		str_printf(s, " is %s", !a->unusual_symptom ? "not unusual" : lower ? "unusually low" : "unusually high");
	if (a->unusual_symptom && (x->flags & FLEET_PEER) && (lower ? a->now > x->usual : a->now < x->usual))
		str_puts(s, " next to its peers"); /* its own values moved the other way, theirs farther */
	if (a->unusual_symptom)
		name_since(x->since, s);
	str_printf(s, ": %s, normally %s (p95 %s).", fleet_value_text(f, x->counter, a->now, now, sizeof(now)),
		   fleet_value_text(f, x->counter, x->usual, normal, sizeof(normal)), fleet_value_text(f, x->counter, a->normal_p95, p95, sizeof(p95)));
}

static int write_summary(const struct fleet *f, const struct cause *cause, struct fleet_answer *a)
{
	struct str s = {};

	name_symptom(f, a, &s);
	if (a->unusual_symptom) {
		name_leader(f, a, &s);
		name_chain(f, a, &s);
		name_movers(f, a, &s);
	}
	name_servers(f, a, &s);
	if (cause)
		str_printf(&s, " That looks like %s: %s.", cause->id, cause->say);
	if (s.error)
		return -ENOMEM;
	a->summary = s.data;
	return 0;
}

static int analyse(const char *name, const struct fleet_question *q, struct fleet_findings *ret)
{
	int r = fleet_analysis_find(name)->run(q, ret);

	if (r == 0 && ret->list.n > LISTED)
		ret->list.n = LISTED;
	return r;
}

/* The symptom's value now and normally, in the data's own units. */
static int find_levels(const struct fleet_question *q, struct fleet_answer *a)
{
	const struct fleet_server *s = &q->fleet->servers.v[q->server];
	_cleanup_(select_room_free) struct select_room room = {};
	_cleanup_free_ struct piece *pieces = NULL;
	struct fleet_baseline_rows usual;
	uint32_t first, n = fleet_rows(s, a->symptom.since ? a->symptom.since : q->window.from, q->window.to, &first);
	struct piece now = {s->column[q->counter] + first, n};
	int r = fleet_baseline_rows(s, q, n, &usual);

	if (r == 0 && !(pieces = calloc(usual.ranges.n + 1, sizeof(*pieces))))
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < usual.ranges.n; i++)
		pieces[i] = (struct piece){s->column[q->counter] + usual.ranges.v[i].first, usual.ranges.v[i].n};
	if (r == 0) {
		a->now = columns_median(&now, 1, &room);
		a->normal_p95 = columns_quantile(pieces, usual.ranges.n, 0.95, &room);
	}
	VEC_FREE(usual.ranges);
	return r;
}

static bool in_chain(const struct fleet_answer *a, int server)
{
	for (size_t i = 0; i < a->n_chain; i++)
		if (a->chain[i].server == server)
			return true;
	return false;
}

static void add_to_chain(struct fleet_answer *a, const struct fleet_finding *x)
{
	size_t at = a->n_chain;

	if (at == FLEET_CHAIN_MAX || !x->since || in_chain(a, x->server))
		return;
	for (; at > 0 && a->chain[at - 1].since > x->since; at--)
		a->chain[at] = a->chain[at - 1];
	a->chain[at] = *x;
	a->n_chain++;
}

static void find_chain(struct fleet_answer *a)
{
	if (!a->unusual_symptom)
		return;
	if (a->led)
		add_to_chain(a, &a->explain.list.v[0]);
	add_to_chain(a, &a->symptom);
	for (size_t i = 0; i < a->explain.list.n && a->explain.list.v[i].score >= LEAD_SCORE; i++)
		add_to_chain(a, &a->explain.list.v[i]);
}

/* What began later is not the cause, except that a callee may be slow first and be seen late. 0 or 1, or -ENOMEM. */
static int symptom_began_first(const struct fleet_question *q, const struct fleet_calls *calls, const struct fleet_answer *a)
{
	const struct fleet_finding *x = a->explain.list.v;
	int callee;

	if (x->n < LEAD_ROWS || !a->symptom.since || x->since < a->symptom.since + q->fleet->interval)
		return 0;
	callee = calls && calls->list.n ? fleet_server_calls(q->fleet, calls, a->symptom.server, x->server) : 0;
	return callee < 0 ? callee : !callee;
}

/* The calls that were given, or those that names of counters tell of. The list's memory is the caller's. */
static int find_calls(const struct fleet *f, const struct fleet_calls *given, int counter, struct fleet_calls *ret, int *ret_called)
{
	size_t n = given ? given->list.n : 0;
	struct counter_calls named;
	int r = counter_calls_find(f, &named);

	for (size_t i = 0; i < n && r == 0; i++)
		r = VEC_PUSH(ret->list, given->list.v[i]);
	for (size_t i = 0; !n && i < f->counters.n && r == 0; i++)
		if (named.of[i].callee >= 0)
			r = VEC_PUSH(ret->list, named.of[i]);
	if (r == 0)
		*ret_called = named.of[counter].callee;
	counter_calls_free(&named);
	return r;
}

/* Finds what explains the symptom, and which of it leads. 0, also where nothing does, or -errno. */
static int find_leader(const struct fleet_question *q, const struct fleet_calls *given, struct fleet_answer *a)
{
	struct fleet_question again = *q;
	struct fleet_calls calls = {};
	int r = find_calls(q->fleet, given, q->counter, &calls, &a->called);

	again.judged = &a->unusual;
	if (r == 0)
		r = analyse("explain", &again, &a->explain);
	if (r == 0)
		r = fleet_find_lead(q->fleet, &calls, q->counter, a->called, &a->explain);
	a->led = r > 0 && a->unusual_symptom;
	if (r > 0)
		r = symptom_began_first(q, &calls, a);
	VEC_FREE(calls.list);
	if (r < 0 && r != -ENODATA)
		return r;
	a->began_first = r > 0;
	a->led &= !a->began_first;
	return 0;
}

/* From the symptom on: who explains it, who led, and what that normally means. */
static int explain_symptom(const struct fleet_question *q, const struct causes *causes, const struct fleet_calls *calls, struct fleet_answer *a)
{
	const struct cause *cause;
	int r = find_leader(q, calls, a);

	if (r < 0)
		return r;
	find_chain(a);
	cause = a->unusual_symptom ? fleet_cause_find(causes, q->fleet, &a->unusual, a->led ? a->explain.list.v : &a->symptom, &a->symptom, ENOUGH) : NULL;
	set_cause(cause, a);
	r = find_levels(q, a);
	return r < 0 ? r : write_summary(q->fleet, cause, a);
}

static void clip_to_data(const struct fleet *f, struct fleet_span *w)
{
	int64_t first, last;

	fleet_extent(f, &first, &last);
	w->from = w->from < first ? first : w->from;
	w->to = w->to > last ? last + 1 : w->to;
}

/* Nothing changed within the data: whether a server differs from its peers all the time. */
static int whole_run(const struct fleet_question *q, const struct causes *causes, struct fleet_answer *ret)
{
	struct fleet_answer a = {.called = -1, .found_window = !window_given(q), .unusual_symptom = true, .normal_p95 = NAN, .found_symptom = q->counter < 0, .found_server = q->server < 0};
	const struct fleet_finding *x;
	const struct cause *cause;
	struct str s = {};
	char now[48], normal[48];
	int r = fleet_levels_compare(q, &a.unusual);

	if (r == 0 && !a.unusual.list.n)
		r = -ENODATA;
	if (r < 0) {
		fleet_answer_free(&a);
		return r;
	}
	a.asked = q->window;
	clip_to_data(q->fleet, &a.asked);
	a.window = a.asked;
	x = &a.unusual.list.v[0];
	a.symptom = *x;
	a.server = x->server;
	a.counter = x->counter;
	a.now = x->observed;
	a.alarms.analysis = "alarm";
	a.explain.analysis = "explain";
	cause = fleet_cause_find(causes, q->fleet, &a.unusual, x, x, 0);
	set_cause(cause, &a);
	str_printf(&s, "%s of %s is unusually %s for all of the data: %s, %s on the servers that do the same work. The data do not show since when.",
		   q->fleet->counters.v[x->counter].name, q->fleet->servers.v[x->server].name, x->flags & FLEET_LOWER ? "low" : "high",
		   fleet_value_text(q->fleet, x->counter, x->observed, now, sizeof(now)),
		   fleet_value_text(q->fleet, x->counter, x->usual, normal, sizeof(normal)));
	if (cause)
		str_printf(&s, " That looks like %s: %s.", cause->id, cause->say);
	a.summary = s.data;
	if (s.error) {
		fleet_answer_free(&a);
		return -ENOMEM;
	}
	*ret = a;
	return 0;
}

/* A window in which no server stands out from its baseline. Where the baseline is too short to tell a rate of
 * false alarms, or the alarms judged the beginning of the window alone (a ramp begins with nothing), a cycle of the day reaches several times the
 * baseline: then none stands out that lies nearer than LEVELS_FAR. */
static bool none_stands_out(const struct fleet_answer *a)
{
	if (!a->alarms.list.n)
		return true;
	if (count_conspicuous(a))
		return false;
	return !(isnan(a->alarms.list.v[0].p) || a->alarms.shortened) || (a->unusual.list.n && a->unusual.list.v[0].score < LEVELS_FAR);
}

/* A symptom that was given counts by its own score. One that was found is where the alarm is raised; with a window that was found it has
 * been judged by the search. */
static void judge_symptom(bool given, struct fleet_answer *a)
{
	bool none = none_stands_out(a);

	a->unusual_symptom = given ? a->symptom.score >= ENOUGH : !none || a->found_window;
	a->calm = none && !a->unusual_symptom;
}

/* Every series and server in q's window. */
static int judge_window(const struct fleet_question *q, struct fleet_answer *a)
{
	struct fleet_question all = *q;
	int r;

	all.server = all.counter = -1;
	r = fleet_alarm_and_deviation(&all, &a->alarms, &a->unusual);
	if (a->alarms.list.n > LISTED)
		a->alarms.list.n = LISTED;
	a->window = q->window;
	return r;
}

/* People notice late: an incident may be over when a short window begins, in which none stands out. Judges it from USUAL_RUN_UP rows earlier
 * on, and keeps that where a server stands out then. A long window would hold such an incident, or it is not about it. */
static int look_before(struct fleet_question *q, struct fleet_answer *a)
{
	struct fleet_question earlier = *q;
	struct fleet_answer then = {.called = -1};
	int r;

	if (q->window.to - q->window.from > SHORT_ROWS * q->fleet->interval)
		return 0;
	earlier.window.from -= USUAL_RUN_UP * q->fleet->interval;
	r = fleet_window_grow(&earlier, false, &earlier.window);
	if (r == 0)
		r = analyse("alarm", &earlier, &then.alarms);
	if (r == 0 && !then.alarms.shortened && then.alarms.list.n && then.alarms.list.v[0].q <= CONSPICUOUS_TWICE) {
		fleet_answer_free(a);
		*q = earlier;
		r = judge_window(q, a);
	}
	fleet_answer_free(&then);
	return r;
}

int fleet_why_answer(const struct fleet_question *asked, const struct causes *causes, const struct fleet_calls *calls, struct fleet_answer *ret)
{
	struct fleet_question q = *asked;
	struct fleet_answer a = {.called = -1};
	struct fleet_stretch found = {};
	bool symptom_given = asked->server >= 0 || asked->counter >= 0;
	int r = find_window(&q, false, &found, &a);

	if (r == -ENODATA) { /* no server left its peers: it differs from them all the time, or all did the same */
		r = whole_run(&q, causes, ret);
		if (r != -ENODATA)
			return r;
		r = find_window(&q, true, &found, &a);
	}
	clip_to_data(q.fleet, &q.window);
	a.asked = q.window;
	if (r == 0)
		r = fleet_window_grow(&q, a.found_window, &q.window);
	if (r == 0)
		r = judge_window(&q, &a);
	if (r == 0 && !symptom_given && !a.found_window && none_stands_out(&a))
		r = look_before(&q, &a);
	if (r == 0 && !symptom_given && none_stands_out(&a)) {
		r = whole_run(asked, causes, ret);
		if (r != -ENODATA) {
			fleet_answer_free(&a);
			return r;
		}
		r = 0;
	}
	if (r == 0)
		r = find_symptom(&q, &found, &a);
	if (r == 0) {
		a.server = q.server;
		a.counter = q.counter;
		judge_symptom(symptom_given, &a);
		r = explain_symptom(&q, causes, calls, &a);
	}
	if (r < 0) {
		fleet_answer_free(&a);
		return r;
	}
	*ret = a;
	return 0;
}
