/* Pearson and Spearman in SQL: the symptom travels in the query, one row comes back for each series. */
#include "fleet/store/fleet-reduce.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/stat/correlate.h"

#define CORRELATION_LEAST 0.9
#define SHIFTS		  199
#define P_MAX		  32 /* findings whose series are fetched to tell how rare they are */
#define POINTS_MAX	  20000 /* of a symptom: it travels in the query */
#define V		  ENGINE_VALUE
#define ROWS		  ENGINE_ROWS

struct symptom {
	struct fleet_engine *e;
	const struct fleet_question *q;
	struct fleet_findings *ret;
	struct engine_common common;
	double least;
	uint32_t n;
	float *v; /* at each point; NaN = not there */
};

static int take_point(void *data, size_t n, char *const *f)
{
	struct symptom *s = data;
	uint64_t k = n == 2 && f[0] ? strtoull(f[0], NULL, 10) : UINT64_MAX;

	if (k < s->n)
		s->v[k] = strtof(f[1], NULL);
	return 0;
}

/* One series at its points: of a server, or the fleet's median; its ranks with spearman. */
static int fetch_series(struct symptom *s, int server, int counter, float *to)
{
	float *kept = s->v;
	_cleanup_str_ struct str sql = {};
	struct clickhouse_parameter p[] = {{"counter", {.text = s->e->fleet->counters.v[counter].name}},
					   {"server", {.text = server >= 0 ? s->e->fleet->servers.v[server].name : ""}},
					   {"table", {.text = s->e->table}}, {"from", {.integer = s->common.span.from}}, {"to", {.integer = s->common.span.to}}, {}};
	int r;

	for (uint32_t i = 0; i < s->n; i++)
		to[i] = NAN;
	str_puts(&sql, "SELECT ");
	fleet_engine_put_point(&sql, s->common.ts, s->e->fleet->interval);
	str_puts(&sql, server >= 0 ? " AS point, any(toFloat32(value))"
				   /* the mean of the two middles: quantileExact takes the upper one */
				   : " AS point, (quantileExact(0.5)(toFloat32(value)) - quantileExact(0.5)(-toFloat32(value))) / 2");
	str_puts(&sql, ROWS " AND counter = {counter:String}");
	if (server >= 0)
		str_puts(&sql, " AND server = {server:String}");
	else
		fleet_engine_put_used(&s->common, &sql);
	str_puts(&sql, " GROUP BY point");
	s->v = to;
	r = sql.error ? sql.error : clickhouse_query(s->e->clickhouse, sql.data, p, take_point, s);
	s->v = kept;
	if (r < 0)
		return str_fail_again(&s->e->error, r, "%s", clickhouse_error(s->e->clickhouse));
	if (s->q->spearman) {
		_cleanup_free_ uint32_t *order = malloc((s->n + 1) * sizeof(*order));

		if (!order)
			return -ENOMEM;
		correlate_rank(to, s->n, order);
	}
	return 0;
}

/* In as few digits as give the same float again. */
static void put_float(struct str *sql, float value)
{
	char text[32];

	for (int digits = 6; digits <= 9; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, (double)value);
		if (strtof(text, NULL) == value)
			break;
	}
	str_puts(sql, text);
}

/* The symptom as an array that every lag's index falls into. */
static void put_symptom(const struct symptom *s, struct str *sql)
{
	for (uint32_t i = 0; i < s->n + 2 * s->q->max_lag; i++) {
		uint32_t k = i - s->q->max_lag;
		float value = i >= s->q->max_lag && k < s->n ? s->v[k] : NAN;

		str_puts(sql, i ? "," : "");
		if (isnan(value))
			str_puts(sql, "nan");
		else
			put_float(sql, value);
	}
}

/* The symptom at the point of a row (or of an array's element k), moved by lag i - max_lag. */
static void put_partner(const struct symptom *s, uint32_t i, struct str *sql)
{
	if (s->q->spearman) {
		str_printf(sql, "arrayMap(k -> toFloat64(x[points[k] + %u]), places)", i + 1);
		return;
	}
	str_puts(sql, "toFloat64(x[");
	fleet_engine_put_point(sql, s->common.ts, s->e->fleet->interval);
	str_printf(sql, " + %u])", i + 1);
}

/* Two columns a lag: how many pairs, and r. */
static void put_lags(const struct symptom *s, struct str *sql)
{
	static const char *const of_rows = ", toUInt32(countIf(NOT isNaN(%s))), corrStableIf(" V ", %s, NOT isNaN(%s))";
	static const char *const of_ranks = ", toUInt32(arrayCount(y -> NOT isNaN(y), %s)), "
					    "arrayReduce('corrStableIf', ranks, %s, arrayMap(y -> NOT isNaN(y), %s))";

	for (uint32_t i = 0; i <= 2 * s->q->max_lag; i++) {
		_cleanup_str_ struct str x = {};

		put_partner(s, i, &x);
		str_printf(sql, s->q->spearman ? of_ranks : of_rows, x.data, x.data, x.data);
	}
}

/* Of a server's counter, in order of its values: where each stands (`places`), and its rank from 0, the mean of the places
 * of those that are equal (as correlate_rank()). */
static void put_ranks(const struct symptom *s, struct str *sql)
{
	str_puts(sql, ", groupArray(" V " + 0) AS v, groupArray("); /* -0 + 0 is 0 */
	fleet_engine_put_point(sql, s->common.ts, s->e->fleet->interval);
	str_puts(sql, ") AS points, arraySort(k -> v[k], arrayEnumerate(v)) AS places, arrayMap(k -> v[k], places) AS sorted, "
		      "arrayMap((j, before, after) -> (2 * j + after - before) / 2 - 1, arrayEnumerate(sorted), arrayEnumerateUniq(sorted), "
		      "arrayReverse(arrayEnumerateUniq(arrayReverse(sorted)))) AS ranks");
}

/* The lag with the largest |r|; lag 0 where nothing is better by more than 0.01. */
static struct lagged best_lag(const struct symptom *s, char *const *f)
{
	uint32_t most = s->q->max_lag;
	struct lagged best = {NAN, 0, 0};

	for (uint32_t i = 0; i <= 2 * most; i++) {
		uint32_t k = i == 0 ? most : i <= most ? i - 1 : i; /* lag 0 first */
		uint32_t n = (uint32_t)strtoul(f[2 + 2 * k], NULL, 10);
		double r = strtod(f[3 + 2 * k], NULL);

		if (n < 3 || isnan(r))
			continue;
		if (isnan(best.r) || fabs(r) > fabs(best.r) + (best.lag == 0 ? 0.01 : 0))
			best = (struct lagged){r, (int)k - (int)most, n};
	}
	return best;
}

static int take_correlation(void *data, size_t n, char *const *f)
{
	struct symptom *s = data;
	struct fleet_finding x = fleet_finding_empty;
	struct lagged l;

	if (n != 4 + 4 * s->q->max_lag)
		return 0;
	x.server = fleet_engine_index(f[0], s->e->fleet->servers.n);
	x.counter = fleet_engine_index(f[1], s->e->fleet->counters.n);
	if (x.server < 0 || x.counter < 0 || (x.counter == s->q->counter && (s->q->server < 0 || s->q->server == x.server)))
		return 0;
	s->ret->looked_at++;
	l = best_lag(s, f);
	if (!(fabs(l.r) >= s->least))
		return 0;
	x.r = l.r;
	x.score = fabs(l.r);
	x.lag = l.lag;
	x.n = l.n;
	return VEC_PUSH(s->ret->list, x);
}

static int correlate(struct symptom *s)
{
	_cleanup_str_ struct str sql = {};

	str_puts(&sql, "WITH CAST('[");
	put_symptom(s, &sql);
	str_puts(&sql, "]' AS Array(Float32)) AS x");
	if (s->q->spearman)
		put_ranks(s, &sql);
	str_puts(&sql, " SELECT ");
	fleet_engine_put_indices(s->e, true, &sql);
	put_lags(s, &sql);
	str_puts(&sql, ROWS);
	fleet_engine_put_used(&s->common, &sql);
	str_puts(&sql, " GROUP BY s, c SETTINGS distributed_group_by_no_merge = 1");
	return sql.error ? sql.error : fleet_engine_query(s->e, sql.data, s->common.span, take_correlation, s);
}

/* How rare: by circular shifts, of the findings that lead the list. */
static int find_p(struct symptom *s)
{
	_cleanup_free_ float *v = malloc((s->n + 1) * sizeof(*v)), *room = malloc((2 * (size_t)s->n + 1) * sizeof(*room));
	int r = v && room ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < s->ret->list.n && i < P_MAX; i++) {
		struct fleet_finding *x = &s->ret->list.v[i];

		r = fetch_series(s, x->server, x->counter, v);
		if (r == 0)
			x->p = correlate_shift_p(s->v, v, s->n, s->q->max_lag, SHIFTS, x->r, room);
	}
	return r;
}

static int check_correlation(struct fleet_engine *e, const struct fleet_question *q)
{
	if (q->counter < 0)
		return str_fail_again(&e->error, -EINVAL, "a symptom is needed");
	return 0;
}

int fleet_engine_run_correlation(struct fleet_engine *e, struct fleet_engine *reference, const struct fleet_question *q,
			   struct fleet_findings *ret)
{
	struct symptom s = {.e = e, .q = q, .ret = ret, .least = isnan(q->threshold) ? CORRELATION_LEAST : q->threshold};
	int r = check_correlation(e, q);

	(void)reference;
	if (r == 0)
		r = fleet_engine_find_common(e, q->window, true, &s.common);
	s.n = s.common.n;
	if (r == 0 && s.n > POINTS_MAX)
		r = str_fail_again(&e->error, -E2BIG, "%u time points: up to %d can be correlated; choose --from and --to", s.n, POINTS_MAX);
	if (r == 0) {
		s.v = malloc(s.n * sizeof(*s.v));
		r = s.v ? fetch_series(&s, q->server, q->counter, s.v) : -ENOMEM;
	}
	if (r == 0)
		r = correlate(&s);
	if (r == 0) {
		fleet_findings_sort(ret);
		r = find_p(&s);
	}
	if (s.n < 20)
		ret->remark = "few points: with less than 20 of them high correlations are common between any two counters";
	free(s.v);
	VEC_FREE(s.common.servers);
	return r;
}
