/* What may explain a symptom: counters that are conspicuous in the window and moved as the symptom did.
 *
 *     own = min(1, deviation's score / CONSPICUOUS) * r^2 * (the symptom's quantity ? 1 : OTHER_QUANTITY) * (contrary ? CONTRARY : 1)
 *     score = (1 - w) * own + w * the highest own of the server's other counters, w = min(CORROBORATED, 2 / rows)
 *
 * r^2 is the share of the symptom's movement that goes with the counter's; being conspicuous counts only up to a point:
 * beyond it, what moved with the symptom is the question, not what moved most. Of many counters some move with a symptom of
 * few rows by chance: two of one server seldom do (of many rows one is enough), and what spreads from server to server is mostly the same quantity (a
 * latency makes a latency). The symptom's own quantity on its own server explains nothing: its p99 is another name of it.
 * A counter is contrary that moves with the symptom within the window, but lies on the other side of normal than that would put
 * it (a latency that fell below normal while the symptom's rose above it, with r > 0): few rows move together by chance.
 * A counter of a call that another server measures (counter-call.h) is one of the server that is called.
 * r is that of the window and as long before it: where a step began the window, nothing moves within. No p is given: these
 * were chosen by their anomaly.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-align.h"
#include "fleet/analysis/fleet-analysis.h"
#include "fleet/analysis/fleet-series.h"
#include "fleet/model/counter-call.h"
#include "fleet/model/counter-name.h"
#include "lib/data/cleanup.h"
#include "lib/stat/correlate.h"

#define CONSPICUOUS 3.0 /* e.g. shift, peak and jump each 1.7 times their normal */
#define OTHER_QUANTITY 0.9
#define CORROBORATED   0.4
#define CONTRARY       0.7
#define ONE_SIDE       3.0 /* of a peak: nearer, chance tells on which side of normal it lies */
#define ROWS_MIN    3
#define LAG_MAX	    5
#define LAG_ROWS    20 /* for each row of lag: with fewer some lag of chance correlates */

struct explain_run {
	struct fleet_series series;
	struct counter_calls calls;
	const struct fleet_finding **judged; /* by server and counter; NULL = none were given */
	struct fleet_alignment align;
	float *symptom;
	unsigned side; /* of normal, on which the symptom lies */
	struct fleet_findings *ret;
	pthread_mutex_t lock;
};

static int find_symptom(struct explain_run *e)
{
	const struct fleet_question *q = e->series.q;
	const float *v;

	e->symptom = malloc(((size_t)e->align.n + 2) * sizeof(*e->symptom));
	if (!e->symptom)
		return -ENOMEM;
	v = fleet_aligned_values(&e->align, q->fleet, (size_t)q->server, (size_t)q->counter, e->symptom);
	if (!v)
		return -ENODATA;
	if (v != e->symptom)
		memcpy(e->symptom, v, e->align.n * sizeof(*v));
	return 0;
}

static uint32_t longest_lag(const struct explain_run *e)
{
	uint32_t by_rows = e->align.n / LAG_ROWS < LAG_MAX ? e->align.n / LAG_ROWS : LAG_MAX;

	return e->series.q->max_lag == FLEET_LAG_BY_ROWS ? by_rows : e->series.q->max_lag;
}

/* FLEET_HIGHER or FLEET_LOWER; 0 = not known. */
static unsigned side_of(const struct fleet_finding *x)
{
	return x->peak >= ONE_SIDE ? x->flags & (FLEET_HIGHER | FLEET_LOWER) : 0;
}

static bool is_contrary(const struct fleet_finding *x, unsigned symptom_side)
{
	unsigned side = side_of(x);

	return side && symptom_side && (side == symptom_side) != (x->r > 0);
}

static double own_score(const struct fleet_finding *x, bool same_quantity, unsigned symptom_side)
{
	if (isnan(x->r))
		return 0;
	return fmin(1, x->score / CONSPICUOUS) * x->r * x->r * (same_quantity ? 1 : OTHER_QUANTITY) * (is_contrary(x, symptom_side) ? CONTRARY : 1);
}

static int take_judged(struct explain_run *e, const struct fleet_question *q)
{
	size_t counters = q->fleet->counters.n;

	if (!q->judged)
		return 0;
	e->judged = calloc(q->fleet->servers.n * counters + 1, sizeof(*e->judged));
	if (!e->judged)
		return -ENOMEM;
	VEC_EACH(x, q->judged->list)
		e->judged[(size_t)x->server * counters + (size_t)x->counter] = x;
	return 0;
}

/* What the default comparison says of a series. */
static int judge(struct explain_run *e, size_t server, size_t counter, const float *relative, struct select_room *room, struct fleet_finding *ret)
{
	const struct fleet_finding *x;

	if (!e->judged)
		return fleet_series_judge(&e->series, server, counter, relative, room, ret, NULL);
	x = e->judged[server * e->series.q->fleet->counters.n + counter];
	if (x)
		*ret = *x;
	return x ? 0 : -ENODATA;
}

/* On which side of normal the symptom lies. 0 or -ENOMEM. */
static int find_side(struct explain_run *e)
{
	const struct fleet_question *q = e->series.q;
	_cleanup_(select_room_free) struct select_room room = {};
	_cleanup_(fleet_relative_free) struct fleet_relative relative = {};
	struct fleet_finding x;
	int r = e->judged ? 0 : fleet_series_relative(&e->series, (size_t)q->counter, &room, &relative);

	if (r < 0)
		return r;
	r = judge(e, (size_t)q->server, (size_t)q->counter, relative.v ? relative.v[q->server] : NULL, &room, &x);
	if (r == 0)
		e->side = side_of(&x);
	return r == -ENOMEM ? r : 0;
}

static int one_series(struct explain_run *e, size_t server, size_t counter, const float *relative, struct select_room *room,
		      float *gathered)
{
	const struct fleet_question *q = e->series.q;
	const float *v = fleet_aligned_values(&e->align, q->fleet, server, counter, gathered);
	bool same = counter_same_quantity(q->fleet->counters.v[counter].name, q->fleet->counters.v[q->counter].name);
	struct fleet_finding x;
	struct lagged l;
	int r;

	if (!v || (server == (size_t)q->server && same))
		return 0;
	r = judge(e, server, counter, relative, room, &x);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	l = correlate_lagged(e->symptom, v, e->align.n, longest_lag(e));
	x.r = l.r;
	x.lag = l.lag;
	x.n = l.n;
	x.score = own_score(&x, same, e->side);
	counter_call_attribute(&e->calls, &x);
	pthread_mutex_lock(&e->lock);
	e->ret->looked_at++;
	r = VEC_PUSH(e->ret->list, x);
	pthread_mutex_unlock(&e->lock);
	return r;
}

static int one_counter(void *data, size_t counter)
{
	struct explain_run *e = data;
	const struct fleet *f = e->series.q->fleet;
	_cleanup_(select_room_free) struct select_room room = {};
	_cleanup_(fleet_relative_free) struct fleet_relative relative = {};
	_cleanup_free_ float *gathered = malloc(((size_t)e->align.n + 1) * sizeof(*gathered));
	int r = gathered ? 0 : -ENOMEM;

	if (r == 0 && !e->judged)
		r = fleet_series_relative(&e->series, counter, &room, &relative);
	for (size_t i = 0; i < f->servers.n && r == 0; i++)
		r = one_series(e, i, counter, relative.v ? relative.v[i] : NULL, &room, gathered);
	return r;
}

/* The two highest of a server. */
struct best_two {
	double first, second;
	size_t n;
};

static int corroborate(const struct fleet_question *q, struct fleet_findings *f)
{
	_cleanup_free_ struct best_two *best = calloc(q->fleet->servers.n + 1, sizeof(*best));
	size_t kept = 0;

	if (!best)
		return -ENOMEM;
	for (size_t i = 0; i < f->list.n; i++) {
		struct best_two *b = &best[f->list.v[i].server];
		double score = f->list.v[i].score;

		b->second = score > b->first ? b->first : fmax(b->second, score);
		b->first = fmax(b->first, score);
		b->n++;
	}
	VEC_EACH(x, f->list) {
		const struct best_two *b = &best[x->server];
		double weight = fmin(CORROBORATED, 2.0 / fmax(1, x->n));

		if (b->n > 1)
			x->score = (1 - weight) * x->score + weight * (x->score < b->first ? b->first : b->second);
		if (isnan(q->threshold) || x->score >= q->threshold)
			f->list.v[kept++] = *x;
	}
	f->list.n = kept;
	return 0;
}

static struct fleet_span with_run_up(const struct fleet_question *q)
{
	struct fleet_span span = q->window;
	int64_t first, last, length;

	fleet_extent(q->fleet, &first, &last);
	length = (span.to < last ? span.to : last) - (span.from > first ? span.from : first);
	if (span.from > first)
		span.from = span.from - length > first ? span.from - length : first;
	return span;
}

static int run(const struct fleet_question *q, struct fleet_findings *ret)
{
	struct explain_run e = {.ret = ret, .lock = PTHREAD_MUTEX_INITIALIZER};
	int r;

	ret->analysis = "explain";
	if (q->counter < 0 || q->server < 0)
		return -EINVAL;
	r = fleet_series_open(q, &e.series);
	r = r ?: counter_calls_find(q->fleet, &e.calls);
	r = r ?: take_judged(&e, q);
	r = r ?: fleet_align_best(q->fleet, with_run_up(q), &e.align);
	if (r == 0 && e.align.n + 1 < ROWS_MIN)
		r = -ENODATA;
	if (e.align.n < 20)
		ret->remark = "few points in the window: high correlations are common between any two counters";
	r = r ?: find_symptom(&e);
	r = r ?: find_side(&e);
	r = r ?: parallel_run(q->threads, q->fleet->counters.n, one_counter, &e);
	r = r ?: corroborate(q, ret);
	FREE_ALL(e.symptom, e.judged);
	counter_calls_free(&e.calls);
	fleet_alignment_free(&e.align);
	fleet_series_close(&e.series);
	if (r == 0)
		fleet_findings_sort(ret);
	return r;
}

const struct fleet_analysis fleet_explain = {
	.name = "explain",
	.help = "what may explain a symptom: conspicuous, and moved as the symptom did",
	.run = run,
};
