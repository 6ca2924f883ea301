/* PAD's Equations 1 and 2 in SQL. */
#include "fleet/store/fleet-reduce.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"

#define ROWS ENGINE_ROWS

struct totals {
	struct counter_moments *moments;
	double *statistic;
};

static void totals_free(struct totals *t)
{
	free(t->moments);
	free(t->statistic);
}

static int find_totals(struct fleet_engine *e, const struct fleet_question *q, int only, struct fleet_span span, struct totals *ret)
{
	int r;

	ret->moments = calloc(e->fleet->counters.n, sizeof(*ret->moments));
	ret->statistic = calloc(e->fleet->counters.n, sizeof(*ret->statistic));
	if (!ret->moments || !ret->statistic)
		return -ENOMEM;
	r = fleet_reduce_moments(e, span, only, ret->moments);
	return r < 0 ? r : fleet_reduce_statistic(e, q, span, ret->moments, ret->statistic);
}

struct within {
	const struct fleet_question *q;
	const struct totals *totals;
	struct fleet_findings *ret;
	int64_t time; /* of by_time */
};

static bool counts(const struct fleet_question *q, const struct fleet_finding *x)
{
	return !isnan(x->score) && (isnan(q->threshold) || x->score >= q->threshold);
}

static int put_within(struct within *w, int server, int64_t time, int counter, uint64_t n, double local)
{
	const double usual = w->totals->statistic[counter], sd = w->totals->moments[counter].sd;
	struct fleet_finding x = fleet_finding_empty;

	x.server = server;
	x.counter = counter;
	x.time = time;
	x.observed = local;
	x.usual = usual;
	x.spread = sd;
	x.n = (uint32_t)n;
	x.score = sd > 0 ? fabs(usual - local) / sd : NAN;
	x.flags = local > usual ? FLEET_HIGHER : local < usual ? FLEET_LOWER : 0;
	w->ret->looked_at++;
	return counts(w->q, &x) ? VEC_PUSH(w->ret->list, x) : 0;
}

static int take_server_value(void *data, int server, int counter, uint64_t n, double value)
{
	return put_within(data, server, INT64_MIN, counter, n, value);
}

struct time_read {
	struct fleet_engine *e;
	struct within *within;
	int64_t start;
};

static int take_time_value(void *data, size_t n, char *const *f)
{
	struct time_read *t = data;
	int c = n == 4 ? fleet_engine_index(f[0], t->e->fleet->counters.n) : -ENOENT;
	int64_t k;

	if (c < 0)
		return 0;
	k = strtoll(f[1], NULL, 10);
	return put_within(t->within, -1, t->start + k * t->e->fleet->interval, c, strtoull(f[2], NULL, 10), strtod(f[3], NULL));
}

static int within_times(struct fleet_engine *e, struct within *w)
{
	_cleanup_str_ struct str sql = {};
	struct engine_common common;
	int r = fleet_engine_find_common(e, w->q->window, false, &common);
	struct time_read t = {e, w, common.ts};

	str_puts(&sql, "SELECT ");
	fleet_engine_put_indices(e, false, &sql);
	str_puts(&sql, ", ");
	fleet_engine_put_point(&sql, common.ts, e->fleet->interval ? e->fleet->interval : 1);
	str_puts(&sql, " AS point, count(), ");
	fleet_reduce_put_statistic(w->q, &sql);
	str_puts(&sql, ROWS);
	fleet_engine_put_only(e, w->q->counter, &sql);
	fleet_engine_put_used(&common, &sql);
	str_puts(&sql, " GROUP BY c, point");
	r = r < 0 ? r : sql.error ? sql.error : fleet_engine_query(e, sql.data, common.span, take_time_value, &t);
	VEC_FREE(common.servers);
	return r;
}

int fleet_engine_run_within(struct fleet_engine *e, struct fleet_engine *reference, const struct fleet_question *q,
		      struct fleet_findings *ret)
{
	struct totals totals = {};
	struct within w = {q, &totals, ret, 0};
	int r = find_totals(e, q, q->counter, q->window, &totals);

	(void)reference;
	if (r == 0)
		r = q->by_time ? within_times(e, &w)
			       : fleet_reduce_local(e, q, q->window, take_server_value, &w);
	totals_free(&totals);
	return r;
}

static int put_between(const struct fleet_question *q, int counter, const struct totals *now, const struct totals *usual,
		       int twin, struct fleet_findings *ret)
{
	struct fleet_finding x = fleet_finding_empty;
	double sd = twin >= 0 ? usual->moments[twin].sd : 0;

	ret->looked_at++;
	x.counter = counter;
	x.observed = now->statistic[counter];
	x.usual = twin >= 0 ? usual->statistic[twin] : NAN;
	x.spread = sd;
	x.n = twin >= 0 ? (uint32_t)usual->moments[twin].n : 0;
	x.score = sd > 0 ? fabs(x.usual - x.observed) / sd : NAN;
	x.flags = x.observed > x.usual ? FLEET_HIGHER : x.observed < x.usual ? FLEET_LOWER : 0;
	ret->left_out += isnan(x.score);
	return counts(q, &x) ? VEC_PUSH(ret->list, x) : 0;
}

int fleet_engine_run_between(struct fleet_engine *e, struct fleet_engine *reference, const struct fleet_question *q,
		       struct fleet_findings *ret)
{
	struct fleet_engine *from = reference ? reference : e;
	struct totals now = {}, usual = {};
	int r = find_totals(e, q, q->counter, q->window, &now);

	if (r == 0)
		r = find_totals(from, q, from == e ? q->counter : -1, q->usual, &usual);
	if (r < 0 && from != e && from->error)
		str_fail_again(&e->error, r, "%s", from->error);
	for (size_t c = 0; r == 0 && c < e->fleet->counters.n; c++)
		if (q->counter < 0 || (size_t)q->counter == c)
			r = put_between(q, (int)c, &now, &usual, fleet_find_counter(from->fleet, e->fleet->counters.v[c].name), ret);
	totals_free(&now);
	totals_free(&usual);
	return r;
}
