/* Which servers are conspicuous, at a known rate of false alarms.
 *
 * Each counter's score is standardised by its own scores in the windows of the normal time (z). A server's score is
 *
 *     max over k = 1..8 of (z of the k highest counters, summed) / sqrt(k)
 *
 * so that one faulty counter can raise an alarm alone and several together sooner. The same is computed of every window
 * of the normal time: p is the share of them that reach as high, or of an exponential tail of the highest fifth where
 * fewer than five do (an empirical share cannot go below 1 / (windows + 1)). q: Benjamini-Hochberg over servers.
 *
 * A counter of a call (counter-call.h) counts for the server that is called, wherever it is measured: that answers late. A server that
 * measures nothing but calls between others is not listed.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/analysis/fleet-series.h"
#include "fleet/model/counter-call.h"
#include "lib/data/cleanup.h"
#include "lib/stat/rank.h"
#include "lib/stat/robust.h"

#define TOGETHER	8
#define SPREAD_MIN	0.05 /* of a counter's scores */
#define TAIL_SHARE	0.2
#define TAIL_EXCEEDED	5
#define P_LEAST		1e-6 /* no fit to some dozens of windows can tell less */
#define WINDOWS_WANTED	25
#define PARTS		2 /* of a window that is too long */
#define WINDOWS_MIN	10 /* of the normal time: with fewer no rate of false alarms can be reported, and no p is given */

struct server_scores {
	float (*top)[TOGETHER]; /* of each window of the normal time, and at last of the one asked about: its highest z */
	size_t windows;
	int64_t *times; /* of the windows, where counters of calls are there */
	struct fleet_finding best;
	double best_z;
	uint32_t counters;
};

struct alarm_run {
	struct fleet_series series;
	struct counter_calls calls;
	struct server_scores *servers;
	pthread_mutex_t lock;
	struct fleet_findings *ret;
	struct fleet_findings *each; /* gets what the default comparison finds; NULL = it is not wanted */
};

static void insert(float top[TOGETHER], float z)
{
	int at = TOGETHER - 1;

	if (!(z > top[at]))
		return;
	for (; at > 0 && top[at - 1] < z; at--)
		top[at] = top[at - 1];
	top[at] = z;
}

static double together(const float top[TOGETHER])
{
	double sum = 0, best = -INFINITY;

	for (int k = 0; k < TOGETHER && top[k] > -INFINITY; k++) {
		sum += (double)top[k];
		if (sum / sqrt(k + 1) > best)
			best = sum / sqrt(k + 1);
	}
	return best;
}

static void standardise(const float *scores, size_t n, double *ret_mean, double *ret_sd)
{
	struct piece piece = {scores, n};
	struct column_moments m;

	column_moments_of(&piece, 1, &m);
	*ret_mean = m.mean;
	*ret_sd = m.sd > SPREAD_MIN ? m.sd : SPREAD_MIN;
}

/* A counter's scores by the windows of `from`, standardised, become some of those of `to`: window by window, the nearest in time. */
static void add_windows(const struct server_scores *from, struct server_scores *to, const float *z)
{
	for (size_t i = 0, k = 0; i < to->windows && from->windows; i++) {
		if (from == to)
			k = i;
		else
			while (k + 1 < from->windows && llabs(from->times[k + 1] - to->times[i]) <= llabs(from->times[k] - to->times[i]))
				k++;
		insert(to->top[i], z[k]);
	}
}

static void add_to(struct alarm_run *a, const struct server_scores *from, struct server_scores *to, const struct fleet_finding *x, const float *z,
		   double z_now)
{
	pthread_mutex_lock(&a->lock);
	add_windows(from, to, z);
	insert(to->top[to->windows], (float)z_now);
	if (!to->counters++ || z_now > to->best_z) {
		to->best = *x;
		to->best_z = z_now;
	}
	pthread_mutex_unlock(&a->lock);
}

/* Adds a counter of `x->server` to its own scores, and one of a call to those of the server that is called. `scores` become z. */
static void add_counter(struct alarm_run *a, const struct fleet_finding *x, float *scores)
{
	int callee = a->calls.of[x->counter].callee;
	struct server_scores *own = &a->servers[x->server], *called = callee >= 0 && callee != x->server ? &a->servers[callee] : NULL;
	struct fleet_finding theirs = *x;
	double mean, sd, z;

	standardise(scores, own->windows, &mean, &sd);
	if (own->windows < WINDOWS_MIN) { /* they tell no spread */
		mean = 0;
		sd = 1;
	}
	if (isnan(mean))
		return;
	z = (x->score - mean) / sd;
	for (size_t i = 0; i < own->windows; i++)
		scores[i] = (float)(((double)scores[i] - mean) / sd);
	if (own->top && !a->calls.observer[x->server])
		add_to(a, own, own, x, scores, z);
	if (!called || !called->top)
		return;
	counter_call_attribute(&a->calls, &theirs);
	add_to(a, own, called, &theirs, scores, z);
}

static int add_each(struct alarm_run *a, const struct fleet_finding *x, bool judged)
{
	int r = 0;

	if (!a->each)
		return 0;
	pthread_mutex_lock(&a->lock);
	a->each->looked_at++;
	if (judged && (isnan(a->series.q->threshold) || x->score >= a->series.q->threshold))
		r = VEC_PUSH(a->each->list, *x);
	else
		a->each->left_out++;
	pthread_mutex_unlock(&a->lock);
	return r;
}

static int one_counter(void *data, size_t counter)
{
	struct alarm_run *a = data;
	const struct fleet *f = a->series.q->fleet;
	_cleanup_(select_room_free) struct select_room room = {};
	_cleanup_(fleet_relative_free) struct fleet_relative relative = {};
	int callee = a->calls.of[counter].callee, r;
	size_t most = 0;
	float *scores;

	for (size_t i = 0; i < f->servers.n; i++)
		most = a->servers[i].windows > most ? a->servers[i].windows : most;
	scores = malloc((most + 1) * sizeof(*scores));
	r = scores ? fleet_series_relative(&a->series, counter, &room, &relative) : -ENOMEM;
	for (size_t i = 0; i < f->servers.n && r == 0; i++) {
		struct fleet_finding x;
		bool judged;

		if (!f->servers.v[i].column[counter] || !(a->servers[i].top || (callee >= 0 && a->servers[callee].top)))
			continue;
		judged = fleet_series_judge(&a->series, i, counter, relative.v ? relative.v[i] : NULL, &room, &x, scores) == 0;
		r = add_each(a, &x, judged);
		if (judged)
			add_counter(a, &x, scores);
	}
	free(scores);
	return r;
}

/* An exponential tail whose scale is known by k windows only: p is what it predicts over all scales that they leave possible (Lomax's
 * distribution), so that three windows that happen to lie together make nothing impossible. */
static double tail_p(double *usual, size_t n, double value)
{
	size_t above = 0, from, k;
	double edge, excess = 0;

	n = robust_sort(usual, n);
	while (above < n && usual[n - 1 - above] >= value)
		above++;
	if (above >= TAIL_EXCEEDED)
		return (1.0 + (double)above) / (1.0 + (double)n);
	from = n - (size_t)((double)n * TAIL_SHARE) - 1;
	edge = usual[from];
	for (size_t i = from + 1; i < n; i++)
		excess += usual[i] - edge;
	k = n - from - 1;
	return excess > 0 ? TAIL_SHARE * pow(1 + (value - edge) / excess, -(double)k) : 1 / (1.0 + (double)n);
}

static int judge_server(struct alarm_run *a, size_t server)
{
	struct server_scores *s = &a->servers[server];
	_cleanup_free_ double *usual = malloc((s->windows + 1) * sizeof(*usual));
	struct fleet_finding x = s->best;

	if (!usual)
		return -ENOMEM;
	if (a->calls.observer[server])
		return 0;
	a->ret->looked_at++;
	a->ret->left_out += !s->counters || s->windows < WINDOWS_MIN;
	if (!s->counters)
		return 0;
	for (size_t i = 0; i < s->windows; i++) {
		usual[i] = together(s->top[i]);
		usual[i] = isinf(usual[i]) ? NAN : usual[i];
	}
	x.score = s->windows >= WINDOWS_MIN ? together(s->top[s->windows]) : s->best_z; /* raw scores do not add up: who has many counters would be first */
	x.n = (uint32_t)s->windows;
	if (s->windows >= WINDOWS_MIN) {
		x.p = tail_p(usual, s->windows, x.score);
		x.p = x.p > 1 ? 1 : x.p < P_LEAST ? P_LEAST : x.p;
	}
	return VEC_PUSH(a->ret->list, x);
}

static int find_q(struct fleet_findings *f)
{
	_cleanup_free_ double *p = malloc((f->list.n + 1) * sizeof(*p));
	int r = 0;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < f->list.n; i++)
		p[i] = isnan(f->list.v[i].p) ? 1 : f->list.v[i].p;
	if (f->list.n)
		r = rank_benjamini_hochberg(p, f->list.n);
	for (size_t i = 0; r == 0 && i < f->list.n; i++)
		f->list.v[i].q = isnan(f->list.v[i].p) ? NAN : p[i];
	return r;
}

/* Servers that are not asked about have windows, too: they may measure calls. */
static int prepare_times(struct alarm_run *a, size_t server)
{
	struct server_scores *s = &a->servers[server];

	s->windows = fleet_series_windows(&a->series, server);
	if (!a->calls.n)
		return 0;
	s->times = calloc(s->windows + 1, sizeof(*s->times));
	if (!s->times)
		return -ENOMEM;
	fleet_series_window_times(&a->series, server, s->times);
	return 0;
}

static int prepare(struct alarm_run *a)
{
	const struct fleet *f = a->series.q->fleet;
	int r = counter_calls_find(f, &a->calls);

	if (r < 0)
		return r;
	a->servers = calloc(f->servers.n + 1, sizeof(*a->servers));
	if (!a->servers)
		return -ENOMEM;
	for (size_t i = 0; i < f->servers.n; i++) {
		struct server_scores *s = &a->servers[i];

		r = prepare_times(a, i);
		if (r < 0)
			return r;
		if (a->series.q->server >= 0 && (size_t)a->series.q->server != i)
			continue;
		s->top = malloc((s->windows + 1) * sizeof(*s->top));
		if (!s->top)
			return -ENOMEM;
		for (size_t k = 0; k <= s->windows; k++)
			for (size_t t = 0; t < TOGETHER; t++)
				s->top[k][t] = -INFINITY;
	}
	return 0;
}

/* A window of which fewer than WINDOWS_WANTED would fit into the data cannot be calibrated: parts of it are judged, and all of it stays
 * out of what is normal. The parts' length; 0: the window is short enough. */
static int64_t shorten(struct fleet_question *q, struct fleet_span *left_out)
{
	int64_t first, last, longest;

	fleet_extent(q->reference ? q->reference : q->fleet, &first, &last);
	longest = (last - first) / WINDOWS_WANTED;
	if (longest < 3 * q->fleet->interval)
		longest = 3 * q->fleet->interval;
	if (q->n_left_out)
		memcpy(left_out, q->left_out, q->n_left_out * sizeof(*left_out));
	fleet_extent(q->fleet, &first, &last);
	if (q->window.from < first)
		q->window.from = first;
	if (q->window.to > last + 1)
		q->window.to = last + 1;
	if (q->window.to - q->window.from <= longest)
		return 0;
	if (!q->reference)
		left_out[q->n_left_out++] = q->window;
	q->left_out = left_out;
	return longest;
}

/* All servers in one window. */
static int judge_window(const struct fleet_question *q, struct fleet_findings *ret, struct fleet_findings *ret_each)
{
	struct alarm_run a = {.ret = ret, .each = ret_each, .lock = PTHREAD_MUTEX_INITIALIZER};
	int r = fleet_series_open(q, &a.series);

	r = r ?: prepare(&a);
	r = r ?: parallel_run(q->threads, q->fleet->counters.n, one_counter, &a);
	for (size_t i = 0; i < q->fleet->servers.n && a.servers && r == 0; i++)
		r = a.servers[i].top ? judge_server(&a, i) : 0;
	for (size_t i = 0; a.servers && i < q->fleet->servers.n; i++) {
		FREE_ALL(a.servers[i].top, a.servers[i].times);
	}
	free(a.servers);
	counter_calls_free(&a.calls);
	fleet_series_close(&a.series);
	return r;
}

/* Keeps each server's part with the highest score. */
static int take_higher(struct fleet_findings *ret, const struct fleet_findings *part)
{
	VEC_EACH(x, part->list) {
		size_t at = 0;

		while (at < ret->list.n && ret->list.v[at].server != x->server)
			at++;
		if (at == ret->list.n && VEC_PUSH(ret->list, *x) < 0)
			return -ENOMEM;
		if (x->score > ret->list.v[at].score)
			ret->list.v[at] = *x;
	}
	return 0;
}

/* The window's beginning and its end: a fault may come on slowly. p is that of the highest of so many parts (Sidak). */
static int judge_parts(struct fleet_question *q, int64_t length, struct fleet_findings *ret)
{
	struct fleet_span whole = q->window;
	int r = 0;

	for (int k = 0; k < PARTS && r == 0; k++) {
		struct fleet_findings part = {};

		q->window.from = whole.from + (whole.to - whole.from - length) * k / (PARTS - 1);
		q->window.to = q->window.from + length;
		r = judge_window(q, &part, NULL);
		r = r ?: take_higher(ret, &part);
		ret->looked_at = part.looked_at;
		ret->left_out = part.left_out;
		fleet_findings_free(&part);
	}
	for (size_t i = 0; i < ret->list.n; i++)
		if (ret->list.v[i].p < 1)
			ret->list.v[i].p = -expm1(PARTS * log1p(-ret->list.v[i].p));
	return r;
}

/* Servers in the order of their most unusual counter in all of the window, of which the parts tell the rate of false alarms alone. */
static void take_deviations(const struct fleet_findings *each, struct fleet_findings *ret)
{
	VEC_EACH(x, ret->list) {
		size_t at = 0;

		while (at < each->list.n && each->list.v[at].server != x->server)
			at++;
		if (at == each->list.n)
			continue;
		struct fleet_finding whole = each->list.v[at];

		whole.p = x->p;
		whole.q = x->q;
		*x = whole;
	}
}

int fleet_alarm_and_deviation(const struct fleet_question *asked, struct fleet_findings *ret, struct fleet_findings *ret_each)
{
	struct fleet_question question = *asked, *q = &question;
	_cleanup_free_ struct fleet_span *left_out = calloc(asked->n_left_out + 1, sizeof(*left_out));
	int64_t part;
	int r;

	ret->analysis = "alarm";
	if (!left_out)
		return -ENOMEM;
	part = shorten(q, left_out);
	ret->shortened = part > 0;
	if (ret->shortened)
		ret->remark = "the window is long: its beginning and its end are judged, each as long as a twenty-fifth of the data";
	r = part ? judge_parts(q, part, ret) : judge_window(q, ret, ret_each);
	if (r == 0 && part && ret_each)
		r = fleet_analysis_find("deviation")->run(asked, ret_each);
	else if (ret_each)
		ret_each->analysis = "deviation";
	r = r ?: find_q(ret);
	if (r == 0 && ret_each)
		fleet_findings_sort(ret_each);
	if (r == 0 && part && ret_each)
		take_deviations(ret_each, ret);
	if (r == 0)
		fleet_findings_sort(ret);
	if (ret->left_out)
		ret->remark = "servers whose baseline has fewer than ten windows of this length have no p: how often such a score comes by chance is unknown";
	return r;
}

static int run(const struct fleet_question *q, struct fleet_findings *ret)
{
	return fleet_alarm_and_deviation(q, ret, NULL);
}

const struct fleet_analysis fleet_alarm = {
	.name = "alarm",
	.help = "servers that are conspicuous, calibrated on the windows of the baseline; false discoveries limited",
	.run = run,
};
