#include "fleet/ask/fleet-why.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-baseline.h"
#include "fleet/analysis/fleet-common.h"
#include "fleet/analysis/fleet-onset.h"
#include "fleet/ask/fleet-cause.h"
#include "fleet/ask/fleet-culprit.h"
#include "fleet/ask/fleet-silence.h"
#include "fleet/ask/fleet-window.h"
#include "fleet/model/counter-call.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/data/str.h"

#define ENOUGH	 3.0  /* of a score, to be called unusual */
#define CONSPICUOUS 0.05 /* q of an alarm */
#define CONSPICUOUS_TWICE 0.0253 /* the same of each of two windows (Sidak) */
#define SHORT_ROWS 12 /* of a window that may begin too late */
#define LEVEL_STANDS 5.0 /* times what three quarters of windows stray */
#define COMMON_LEVEL   3.0 /* times what three quarters of windows stray */
#define LEVEL_SIZE 0.05 /* of normal: what a person would call a change */
#define LISTED	 1000

void fleet_answer_free(struct fleet_answer *a)
{
	fleet_findings_free(&a->alarms);
	fleet_findings_free(&a->explain);
	fleet_findings_free(&a->unusual);
	VEC_FREE(a->silences.list);
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
static int find_symptom(struct fleet_question *q, const struct fleet_stretch *found, const struct fleet_calls *calls, struct fleet_answer *a)
{
	const struct fleet_findings *u = &a->unusual;
	struct fleet_findings candidates = a->alarms;
	size_t i = 0;
	int first;

	candidates.list.n = a->by_level ? a->by_level : candidates.list.n;
	a->found_symptom = q->counter < 0;
	a->found_server = q->server < 0;
	if (a->found_window && q->counter < 0 && q->server < 0) {
		q->server = found->server;
		q->counter = found->counter;
	}
	if (a->stepped && !(calls && calls->list.n)) {
		q->server = a->alarms.list.v[0].server;
		q->counter = a->alarms.list.v[0].counter;
	} else if (a->found_symptom && a->found_server) {
		first = fleet_culprit_first(q->fleet, calls, &candidates, &a->unusual, q->server);
		if (first == -ENOMEM)
			return first;
		if (first >= 0) {
			q->server = fleet_finding_column(&a->alarms.list.v[first]);
			q->counter = a->alarms.list.v[first].counter;
		}
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
	if (since)
		str_printf(s, " since %s", CLOCK_RFC3339(since));
}

/* "disk_await_ms of db-1"; "web_db of mesh-1 (calls to db-1)". */
static void name_counter(const struct fleet *f, const struct fleet_finding *x, struct str *s)
{
	str_printf(s, "%s of %s", f->counters.v[x->counter].name, f->servers.v[fleet_finding_column(x)].name);
	if (x->flags & FLEET_CALLED)
		str_printf(s, " (calls to %s)", f->servers.v[x->server].name);
}

/* "80.2 ms (71.5 to 95 ms), normally 40.1 ms (p95 52 ms)". */
static void name_values(const struct fleet *f, const struct fleet_finding *x, double p5, double p95, struct str *s)
{
	char now[48], low[48], high[48], normal[48], edge[48];
	bool lower = x->observed < x->usual;

	fleet_value_text(f, x->counter, x->observed, now, sizeof(now));
	fleet_value_text(f, x->counter, x->least, low, sizeof(low));
	fleet_value_text(f, x->counter, x->most, high, sizeof(high));
	str_puts(s, now);
	if (x->least < x->most && (strcmp(low, now) != 0 || strcmp(high, now) != 0))
		str_printf(s, " (%s to %s)", low, high);
	str_printf(s, ", normally %s", fleet_value_text(f, x->counter, x->usual, normal, sizeof(normal)));
	if (!isnan(p95))
		str_printf(s, " (%s %s)", lower ? "p5" : "p95", fleet_value_text(f, x->counter, lower ? p5 : p95, edge, sizeof(edge)));
}

/* The culprit of a symptom that was given. */
static void name_leader(const struct fleet *f, const struct fleet_answer *a, struct str *s)
{
	const struct fleet_finding *x = &a->culprit;
	bool itself = x->counter == a->symptom.counter && fleet_finding_column(x) == a->symptom.server;

	if (!a->named) {
		str_puts(s, " Nothing leads to a culprit: no counter of another server that is unusual explains it.");
		return;
	}
	if (!a->led) {
		str_printf(s, " Most likely because of %s itself: no other server is farther from normal or began earlier", f->servers.v[x->server].name);
		if (itself) {
			str_putc(s, '.');
			return;
		}
		str_puts(s, ". There ");
	} else {
		str_puts(s, " Most likely because of ");
	}
	name_counter(f, x, s);
	str_puts(s, a->led || fleet_chain_is_together(f, a->chain, a->n_chain) ? ": " : " began first: ");
	name_values(f, x, NAN, NAN, s);
	str_puts(s, x->since ? "," : "");
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
	if (a->n_chain > 1 && fleet_chain_is_together(f, a->chain, a->n_chain))
		str_puts(s, " They began together: which came first is not known.");
	if (a->n_chain < 2 || fleet_chain_is_together(f, a->chain, a->n_chain))
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

/* "unusually high", by the values that are printed; of what all servers have in common not by its peers. */
static const char *how_unusual(const struct fleet *f, const struct fleet_finding *x, bool common)
{
	char now[48], normal[48];

	fleet_value_text(f, x->counter, x->observed, now, sizeof(now));
	fleet_value_text(f, x->counter, x->usual, normal, sizeof(normal));
	if (strcmp(now, normal) == 0 && !common)
		return x->flags & FLEET_PEER ? "unlike its peers" : "less steady than normally";
	if (!common && x->flags & FLEET_PEER && (x->flags & FLEET_LOWER ? x->observed > x->usual : x->observed < x->usual))
		return x->flags & FLEET_LOWER ? "unusually low next to its peers" : "unusually high next to its peers"; /* theirs moved farther */
	return x->observed < x->usual ? "unusually low" : "unusually high";
}

static void name_symptom(const struct fleet *f, const struct fleet_answer *a, struct str *s)
{
	const struct fleet_finding *x = &a->symptom;
	bool nothing = a->calm && a->found_symptom;

	if (a->common)
		str_printf(s, "All servers, %zu of them, at once: %s is %s", a->common, f->counters.v[x->counter].name, how_unusual(f, x, a->common));
	else
		str_printf(s, "%s%s of %s", nothing ? "Nothing is unusual in this window. Farthest from normal is " : "", f->counters.v[x->counter].name,
			   f->servers.v[x->server].name);
	if (a->called >= 0)
		str_printf(s, " (calls to %s)", f->servers.v[a->called].name);
	if (!nothing && !a->common)
		str_printf(s, " is %s", a->unusual_symptom ? how_unusual(f, x, false) : "not unusual");
	if (a->unusual_symptom)
		name_since(x->since, s);
	str_puts(s, ": ");
	if (a->common)
		str_printf(s, "on %s ", f->servers.v[x->server].name);
	name_values(f, x, a->normal_p5, a->normal_p95, s);
	str_putc(s, '.');
}

#define SILENCES_TOLD 3

static void name_silences(const struct fleet *f, const struct fleet_answer *a, struct str *s)
{
	for (size_t i = 0; i < a->silences.list.n && i < SILENCES_TOLD; i++) {
		const struct fleet_silence *x = &a->silences.list.v[i];

		str_puts(s, f->servers.v[x->server].name);
		if (x->counter < 0)
			str_puts(s, " reports nothing");
		else
			str_printf(s, " does not report %s", f->counters.v[x->counter].name);
		str_printf(s, " %s %s", x->until ? "from" : "since", CLOCK_RFC3339(x->since));
		if (x->until)
			str_printf(s, " to %s", CLOCK_RFC3339(x->until));
		str_puts(s, ". ");
	}
	if (a->silences.list.n > SILENCES_TOLD)
		str_printf(s, "%zu more servers or counters report nothing. ", a->silences.list.n - SILENCES_TOLD);
}

static int write_summary(const struct fleet *f, const struct cause *cause, struct fleet_answer *a)
{
	struct str s = {};

	name_silences(f, a, &s);
	name_symptom(f, a, &s);
	if (!a->found_symptom)
		name_leader(f, a, &s);
	if (a->unusual_symptom) {
		name_chain(f, a, &s);
		name_movers(f, a, &s);
	}
	if (!a->calm || !a->found_window)
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

/* Whether more than one, and at least one in `part` of the rows lie below, or above. */
static bool rows_beyond(const struct piece *now, double low, double high, size_t part)
{
	size_t below = 0, above = 0;

	for (size_t i = 0; i < now->n; i++) {
		below += (double)now->v[i] < low;
		above += (double)now->v[i] > high;
	}
	below = below > above ? below : above;
	return below > 1 && below * part >= now->n;
}

/* The edges of what is normal for the symptom. */
static int find_edges(const struct fleet_question *q, struct fleet_answer *a)
{
	const struct fleet *of = q->reference ? q->reference : q->fleet;
	int server = q->reference ? fleet_find_server(of, q->fleet->servers.v[q->server].name) : q->server;
	int counter = q->reference ? fleet_find_counter(of, q->fleet->counters.v[q->counter].name) : q->counter;
	_cleanup_(select_room_free) struct select_room room = {};
	_cleanup_free_ struct piece *pieces = NULL;
	struct fleet_baseline_rows usual;
	uint32_t first, n = fleet_rows(&q->fleet->servers.v[q->server], q->window.from, q->window.to, &first);
	const struct piece now = {q->fleet->servers.v[q->server].column[q->counter] + first, n};
	int r = server < 0 || counter < 0 ? -ENODATA : fleet_baseline_rows(&of->servers.v[server], q, 1, &usual);

	if (r < 0)
		return r;
	pieces = calloc(usual.ranges.n + 1, sizeof(*pieces));
	for (size_t i = 0; pieces && i < usual.ranges.n; i++)
		pieces[i] = (struct piece){of->servers.v[server].column[counter] + usual.ranges.v[i].first, usual.ranges.v[i].n};
	if (pieces) {
		a->normal_p5 = columns_quantile(pieces, usual.ranges.n, 0.05, &room);
		a->normal_p95 = columns_quantile(pieces, usual.ranges.n, 0.95, &room);
		a->beyond = rows_beyond(&now, a->normal_p5, a->normal_p95, 2) ||
			    rows_beyond(&now, columns_quantile(pieces, usual.ranges.n, 0.01, &room), columns_quantile(pieces, usual.ranges.n, 0.99, &room), 5);
	}
	a->now = a->symptom.observed;
	VEC_FREE(usual.ranges);
	return pieces ? 0 : -ENOMEM;
}

static bool in_chain(const struct fleet_answer *a, int server)
{
	return ANY_WHERE(i, a->n_chain, a->chain[i].server == server);
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
		add_to_chain(a, &a->culprit);
	add_to_chain(a, &a->symptom);
	for (size_t i = 0; i < a->explain.list.n && a->explain.list.v[i].score >= CULPRIT_EXPLAINS; i++)
		add_to_chain(a, &a->explain.list.v[i]);
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

/* Finds what explains the symptom, and who is named. 0, also where nothing does, or -errno. */
static int find_culprit(const struct fleet_question *q, const struct fleet_calls *given, struct fleet_answer *a)
{
	struct fleet_question again = *q;
	struct fleet_calls calls = {};
	int r = find_calls(q->fleet, given, q->counter, &calls, &a->called);

	again.judged = &a->unusual;
	r = r ?: analyse("explain", &again, &a->explain);
	if (r == 0 || r == -ENODATA)
		r = fleet_culprit_find(q->fleet, &calls, a);
	VEC_FREE(calls.list);
	return r;
}

/* Whether a server's level is so far from all of its normal levels that it stands out without a rate of false alarms; and far in the reader's terms. */
static bool level_stands_out(const struct fleet_answer *a, const struct fleet_finding *x)
{
	return a->long_enough && x->level >= LEVEL_STANDS && fmax(fabs(x->observed - x->usual), x->most - x->least) >= LEVEL_SIZE * fabs(x->usual);
}

/* A window in which no server stands out from its baseline: neither an alarm, nor a level. Where the baseline is too short to tell a rate of false alarms, or
 * the alarms judged parts alone, none stands out that lies nearer than LEVELS_FAR. */
static bool none_stands_out(const struct fleet_answer *a)
{
	if (!a->alarms.list.n)
		return true;
	for (size_t i = 0; i < a->unusual.list.n; i++)
		if (level_stands_out(a, &a->unusual.list.v[i]))
			return false;
	if (count_conspicuous(a))
		return false;
	return !(isnan(a->alarms.list.v[0].p) || a->alarms.shortened) || (a->unusual.list.n && a->unusual.list.v[0].score < LEVELS_FAR);
}

/* --- all servers at once --- */

/* Puts the alarm at `place` first, with that counter. */
static void move_alarm_first(struct fleet_answer *a, size_t place, const struct fleet_finding *counter)
{
	struct fleet_finding x = a->alarms.list.v[place], with = *counter;

	with.score = x.score;
	with.p = x.p;
	with.q = x.q;
	memmove(&a->alarms.list.v[1], &a->alarms.list.v[0], place * sizeof(x));
	a->alarms.list.v[0] = with;
}

/* Where what is asked about is part of an incident of all servers (`similar`: of all that do the same work), counts them, and puts the farthest of them
 * first in the lists, with that counter. 0 or -ENOMEM. */
static int find_together(const struct fleet *f, bool similar, struct fleet_answer *a)
{
	struct fleet_common common;
	const struct fleet_finding *best = NULL;
	int r = fleet_common_find(f, -1, similar, a->asked, &common);

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	VEC_EACH(x, a->unusual.list)
		if (x->counter == common.counter && common.members[x->server] && (!best || x->score > best->score))
			best = x;
	for (size_t k = 0; best && k < a->alarms.list.n; k++)
		if (a->alarms.list.v[k].server == best->server) {
			move_alarm_first(a, k, best);
			a->common = common.servers > 1 ? common.servers : 0;
			a->stepped = true;
			break;
		}
	free(common.members);
	return 0;
}

/* Whether calls carried it from the culprit to most of the others. */
static bool is_carried(const struct fleet *f, const struct fleet_calls *calls, int culprit, const struct fleet_common *common)
{
	_cleanup_free_ bool *callers = calls ? calloc(f->servers.n + 1, sizeof(*callers)) : NULL;
	size_t n = 0;

	if (!callers)
		return false;
	fleet_culprit_mark(calls, culprit, false, callers);
	for (size_t i = 0; i < f->servers.n; i++)
		n += callers[i] && common->members[i] && (int)i != culprit;
	return 2 * n >= common->servers;
}

/* Whether the symptom of a server that stands out is what befell all of them. 0 or -ENOMEM. */
static int find_common(const struct fleet *f, const struct fleet_calls *calls, struct fleet_answer *a)
{
	struct fleet_common common;
	int r;

	if ((a->common && !(calls && calls->list.n)) || !a->unusual_symptom || a->called >= 0 || !a->found_symptom)
		return 0;
	r = fleet_common_find(f, a->symptom.counter, false, a->asked, &common);
	if (r < 0)
		return r == -ENODATA ? 0 : r;
	a->common = common.servers > 1 && common.members[a->symptom.server] && !is_carried(f, calls, a->symptom.server, &common) ? common.servers : 0;
	free(common.members);
	return 0;
}

/* A silent server or counter is named before all else, unless a symptom was given. */
static void name_silent(struct fleet_answer *a)
{
	const struct fleet_silence *x = a->silences.list.v;

	if (!a->silences.list.n)
		return;
	a->calm = false;
	if (!a->found_symptom)
		return;
	a->named = true;
	a->led = false;
	a->common = 0;
	a->culprit = fleet_finding_empty;
	a->culprit.server = x->server;
	a->culprit.counter = x->counter;
	a->culprit.since = x->since;
	a->culprit.flags = FLEET_LOWER;
}

/* --- the answer --- */

/* From the symptom on: who explains it, who is named, and what that normally means. */
static int explain_symptom(const struct fleet_question *q, const struct causes *causes, const struct fleet_calls *calls, struct fleet_answer *a)
{
	const struct cause *cause;
	int r = find_culprit(q, calls, a);

	if (r < 0)
		return r;
	r = find_common(q->fleet, calls, a);
	if (r < 0)
		return r;
	name_silent(a);
	find_chain(a);
	cause = a->unusual_symptom ? fleet_cause_find(causes, q->fleet, &a->unusual, a->named ? &a->culprit : &a->symptom, &a->symptom, ENOUGH) : NULL;
	set_cause(cause, a);
	return write_summary(q->fleet, cause, a);
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
	struct fleet_answer a = {.called = -1, .found_window = !window_given(q), .unusual_symptom = true, .normal_p5 = NAN, .normal_p95 = NAN, .found_symptom = q->counter < 0, .found_server = q->server < 0};
	const struct fleet_finding *x;
	const struct cause *cause;
	struct str s = {};
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
	a.symptom = a.culprit = *x;
	a.named = true;
	a.server = x->server;
	a.counter = x->counter;
	a.now = x->observed;
	a.alarms.analysis = "alarm";
	a.explain.analysis = "explain";
	cause = fleet_cause_find(causes, q->fleet, &a.unusual, x, x, 0);
	set_cause(cause, &a);
	str_printf(&s, "%s of %s is unusually %s for all of the data: %s, %s on the servers that do the same work. The data do not show since when.",
		   q->fleet->counters.v[x->counter].name, q->fleet->servers.v[x->server].name, x->flags & FLEET_LOWER ? "low" : "high",
		   FLEET_VALUE_TEXT(q->fleet, x->counter, x->observed),
		   FLEET_VALUE_TEXT(q->fleet, x->counter, x->usual));
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

ORDER_OF_POINTERS(by_level, struct fleet_finding, DESCENDING(level))

/* Servers whose level stands out go before others without an alarm, with that counter, the farthest first: the first of the list is who is named. */
static int put_levels_first(struct fleet_answer *a)
{
	_cleanup_free_ const struct fleet_finding **far = calloc(a->unusual.list.n + 1, sizeof(*far));
	size_t n = 0;

	a->by_level = 0;
	if (!far)
		return -ENOMEM;
	if (count_conspicuous(a))
		return 0;
	for (size_t i = 0; i < a->unusual.list.n; i++)
		if (level_stands_out(a, &a->unusual.list.v[i]))
			far[n++] = &a->unusual.list.v[i];
	qsort(far, n, sizeof(*far), by_level);
	for (size_t i = n; i-- > 0;)
		for (size_t k = 0; k < a->alarms.list.n; k++)
			if (a->alarms.list.v[k].server == far[i]->server) {
				a->by_level += k >= a->by_level;
				move_alarm_first(a, k, far[i]);
			}
	return 0;
}

/* A symptom that was given counts by its own score, or where its level is beyond what is normal: one row of a start may own the scale. One that
 * was found is where the alarm is raised; with a window that was found it has been judged by the search, but a single row does not make an incident. */
static void judge_symptom(bool given, struct fleet_answer *a)
{
	const struct fleet_finding *x = &a->symptom;
	bool none = !a->stepped && none_stands_out(a), beyond = isnan(x->level) ? a->beyond : x->level >= COMMON_LEVEL;

	a->unusual_symptom = given ? x->score >= ENOUGH || beyond : a->found_window ? x->least < x->most : !none;
	a->calm = !a->unusual_symptom && (none || a->found_window);
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
	return r < 0 ? r : put_levels_first(a);
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
	r = r ?: analyse("alarm", &earlier, &then.alarms);
	if (r == 0 && !then.alarms.shortened && then.alarms.list.n && then.alarms.list.v[0].q <= CONSPICUOUS_TWICE) {
		fleet_answer_free(a);
		*q = earlier;
		r = judge_window(q, a);
	}
	fleet_answer_free(&then);
	return r;
}

/* Where no server stands out from its baseline in the window that was given. What befalls unlike servers may have begun with one of them, before. */
static int look_farther(struct fleet_question *q, struct fleet_answer *a)
{
	int r = count_conspicuous(a) ? 0 : find_together(q->fleet, true, a);

	if (r == 0 && !a->stepped && none_stands_out(a))
		r = look_before(q, a);
	return r == 0 && !a->stepped && none_stands_out(a) ? find_together(q->fleet, false, a) : r;
}

/* The window that was given, or the one that is found; a found one of all servers together where none of them left its peers. */
static int choose_window(struct fleet_question *q, struct fleet_stretch *found, struct fleet_answer *a)
{
	struct fleet_common common;
	int r = find_window(q, false, found, a);

	if (r == -ENODATA && q->server < 0 && q->counter < 0) {
		r = fleet_common_find(q->fleet, -1, false, q->window, &common);
		if (r == 0) {
			free(common.members);
			q->window = common.span;
			*found = (struct fleet_stretch){.server = -1, .counter = -1};
			a->found_window = true;
			return 0;
		}
	}
	return r == -ENODATA ? find_window(q, true, found, a) : r;
}

int fleet_why_answer(const struct fleet_question *asked, const struct causes *causes, const struct fleet_calls *calls, struct fleet_answer *ret)
{
	struct fleet_question q = *asked;
	struct fleet_answer a = {.called = -1, .normal_p5 = NAN, .normal_p95 = NAN};
	struct fleet_stretch found = {};
	bool symptom_given = asked->server >= 0 || asked->counter >= 0;
	int r = fleet_silence_find(asked, window_given(asked), &a.silences);

	r = r ?: choose_window(&q, &found, &a);
	if (r == -ENODATA && !a.silences.list.n && !window_given(asked)) /* nothing changed: whether one differs from its peers all the time */
		return whole_run(&q, causes, ret);
	if (r == -ENODATA && a.silences.list.n) {
		q.window = (struct fleet_span){a.silences.list.v[0].since, a.silences.list.v[0].until ? a.silences.list.v[0].until : INT64_MAX};
		a.found_window = true;
		r = 0;
	}
	clip_to_data(q.fleet, &q.window);
	a.asked = q.window;
	a.long_enough = q.window.to - q.window.from >= SHORT_ROWS * q.fleet->interval;
	r = r ?: fleet_window_grow(&q, a.found_window, &q.window);
	r = r ?: judge_window(&q, &a);
	if (r == 0 && a.found_window && found.server < 0)
		r = find_together(q.fleet, false, &a);
	else if (r == 0 && !symptom_given && !a.found_window)
		r = look_farther(&q, &a);
	r = r ?: find_symptom(&q, &found, calls, &a);
	if (r == 0) {
		a.server = q.server;
		a.counter = q.counter;
		r = find_edges(&q, &a);
	}
	if (r == 0 || r == -ENODATA) {
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
