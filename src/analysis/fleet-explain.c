/* What may explain a symptom: counters that are conspicuous in the window and moved as the symptom did.
 *
 *     score = min(1, deviation's score / CONSPICUOUS) * r^2
 *
 * r^2 is the share of the symptom's movement that goes with the counter's; being conspicuous counts only up to a point:
 * beyond it, what moved with the symptom is the question, not what moved most. r is that of the window and as long before
 * it: where a step began the window, nothing moves within. No p is given: these were chosen by their anomaly.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fleet-align.h"
#include "analysis/fleet-analysis.h"
#include "analysis/fleet-series.h"
#include "base/cleanup.h"
#include "stat/correlate.h"

#define CONSPICUOUS 3.0 /* e.g. shift, peak and jump each 1.7 times their usual */
#define ROWS_MIN    3

struct explain_run {
	struct fleet_series series;
	struct fleet_alignment align;
	float *symptom;
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

static int one_series(struct explain_run *e, size_t server, size_t counter, const float *relative, struct select_room *room,
		      float *gathered)
{
	const struct fleet_question *q = e->series.q;
	const float *v = fleet_aligned_values(&e->align, q->fleet, server, counter, gathered);
	struct fleet_finding x;
	struct lagged l;
	int r;

	if (!v || (server == (size_t)q->server && counter == (size_t)q->counter))
		return 0;
	r = fleet_series_judge(&e->series, server, counter, relative, room, &x, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	l = pearson_lagged(e->symptom, v, e->align.n, q->max_lag);
	x.r = l.r;
	x.lag = l.lag;
	x.n = l.n;
	x.score = isnan(l.r) ? 0 : fmin(1, x.score / CONSPICUOUS) * l.r * l.r;
	pthread_mutex_lock(&e->lock);
	e->ret->looked_at++;
	r = isnan(q->threshold) || x.score >= q->threshold ? VEC_PUSH(e->ret->list, x) : 0;
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
	int r = gathered ? fleet_series_relative(&e->series, counter, &room, &relative) : -ENOMEM;

	for (size_t i = 0; i < f->servers.n && r == 0; i++)
		r = one_series(e, i, counter, relative.v ? relative.v[i] : NULL, &room, gathered);
	return r;
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
	if (r == 0)
		r = fleet_align_best(q->fleet, with_run_up(q), &e.align);
	if (r == 0 && e.align.n + 1 < ROWS_MIN)
		r = -ENODATA;
	if (e.align.n < 20)
		ret->remark = "few points in the window: high correlations are common between any two counters";
	if (r == 0)
		r = find_symptom(&e);
	if (r == 0)
		r = work_in_parallel(q->threads, q->fleet->counters.n, one_counter, &e);
	free(e.symptom);
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
