#include "store/fleet-engine.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "stat/correlate.h"
#include "store/fleet-reduce.h"

#define CORRELATION_LEAST 0.9
#define SHIFTS		  199
#define P_MAX		  32 /* findings whose series are fetched to tell how rare they are */
#define POINTS_MAX	  20000 /* of a symptom: it travels in the query */
#define V		  ENGINE_VALUE
#define ROWS		  ENGINE_ROWS

const char *fleet_engine_error(const struct fleet_engine *e)
{
	return e->error ? e->error : "out of memory";
}

const struct fleet *fleet_engine_fleet(const struct fleet_engine *e)
{
	return e->fleet;
}

struct fleet_span fleet_engine_extent(const struct fleet_engine *e)
{
	return e->extent;
}

/* --- what there is --- */

static int take_table(void *data, size_t n, char *const *f)
{
	char **table = data;

	if (n != 1 || !f[0] || (*table && strcmp(f[0], "fleet_values_all") != 0))
		return 0;
	free(*table);
	*table = strdup(f[0]);
	return *table ? 0 : -ENOMEM;
}

static int find_table(struct fleet_engine *e)
{
	const char *given = clickhouse_table(e->clickhouse);
	int r;

	if (given) {
		e->table = strdup(given);
		return e->table ? 0 : -ENOMEM;
	}
	r = clickhouse_query(e->clickhouse, "SELECT name FROM system.tables WHERE database = currentDatabase() AND name IN "
					    "('fleet_values', 'fleet_values_all')", NULL, take_table, &e->table);
	if (r < 0)
		return fail_again(&e->error, r, "%s", clickhouse_error(e->clickhouse));
	return e->table ? 0 : fail_again(&e->error, -ENOENT, "the database has no table fleet_values: docs/clickhouse.md says how it is made");
}

static int take_counter(void *data, size_t n, char *const *f)
{
	struct fleet_engine *e = data;

	return n == 1 && f[0] ? (fleet_add_counter(e->fleet, f[0]) < 0 ? -ENOMEM : 0) : 0;
}

static int take_server(void *data, size_t n, char *const *f)
{
	struct fleet_engine *e = data;
	int64_t first, last, *ends = malloc(2 * sizeof(*ends));
	int server = n == 3 && f[0] && ends ? fleet_add_server(e->fleet, f[0]) : -EINVAL;

	if (server < 0) {
		free(ends);
		return n == 3 && f[0] ? -ENOMEM : 0;
	}
	ends[0] = first = strtoll(f[1], NULL, 10);
	ends[1] = last = strtoll(f[2], NULL, 10);
	e->fleet->servers.v[server].time = ends;
	e->fleet->servers.v[server].n = 2;
	if (first < e->extent.from)
		e->extent.from = first;
	if (last >= e->extent.to)
		e->extent.to = last + 1;
	return 0;
}

/* "counter kind unit help" */
static int take_about(void *data, size_t n, char *const *f)
{
	struct fleet_engine *e = data;
	int c = n == 4 && f[0] ? fleet_find_counter(e->fleet, f[0]) : -ENOENT;
	struct fleet_counter *counter = c >= 0 ? &e->fleet->counters.v[c] : NULL;

	if (!counter || !f[1])
		return 0;
	counter->kind = strcmp(f[1], "gauge") == 0 ? FLEET_GAUGE : FLEET_COUNTER;
	if (f[2] && *f[2] && !counter->unit)
		counter->unit = strdup(f[2]);
	return 0;
}

static int take_gap(void *data, size_t n, char *const *f)
{
	struct fleet_engine *e = data;
	double gap = n == 1 && f[0] ? strtod(f[0], NULL) : NAN;

	e->fleet->interval = gap > 0 ? llround(gap / (double)NS_PER_MS) * NS_PER_MS : 0;
	return 0;
}

/* Running sums are left out: their rates are made when they are loaded. */
static int find_counters(struct fleet_engine *e, bool *ret_about)
{
	static const char sums[] = "(SELECT counter FROM fleet_counters WHERE kind = 'counter')";
	const struct fleet_span all = {INT64_MIN, INT64_MAX};
	_cleanup_str_ struct str sql = {};
	int r = clickhouse_query(e->clickhouse, "SELECT counter FROM fleet_counters LIMIT 1", NULL, NULL, NULL);

	*ret_about = r == 0;
	str_puts(&sql, "SELECT counter FROM {table:Table}");
	if (*ret_about)
		str_printf(&sql, " WHERE counter GLOBAL NOT IN %s", sums);
	str_puts(&sql, " GROUP BY counter ORDER BY counter");
	return sql.error ? sql.error : engine_query(e, sql.data, all, take_counter, e);
}

static int take_left_out(void *data, size_t n, char *const *f)
{
	struct fleet_engine *e = data;
	unsigned long long left_out = n == 1 && f[0] ? strtoull(f[0], NULL, 10) : 0;

	if (!left_out)
		return 0;
	return fleet_remark(e->fleet, "%llu counters are running sums in the table and were left out: load them with fleet load, which "
			    "makes rates", left_out);
}

/* The usual distance of two rows: of one counter, the median over servers. */
static int find_interval(struct fleet_engine *e)
{
	const struct clickhouse_parameter p[] = {{"table", {.text = e->table}}, {"counter", {.text = e->fleet->counters.v[0].name}}, {}};
	int r;

	r = clickhouse_query(e->clickhouse, "SELECT quantileExact(0.5)(gap) FROM (SELECT server, (max(time) - min(time)) / (count() - 1) AS gap "
			     "FROM {table:Table} WHERE counter = {counter:String} GROUP BY server HAVING count() > 1)", p, take_gap, e);
	return r < 0 ? fail_again(&e->error, r, "%s", clickhouse_error(e->clickhouse)) : 0;
}

static int find_all(struct fleet_engine *e)
{
	const struct fleet_span all = {INT64_MIN, INT64_MAX};
	bool about = false;
	int r = find_table(e);

	if (r == 0)
		r = find_counters(e, &about);
	if (r == 0 && !e->fleet->counters.n)
		r = fail_again(&e->error, -ENODATA, "the table %s has no levels or rates", e->table);
	if (r == 0 && about)
		r = engine_query(e, "SELECT counter, kind, unit, help FROM fleet_counters", all, take_about, e);
	if (r == 0 && about)
		r = engine_query(e, "SELECT count() FROM fleet_counters WHERE kind = 'counter'", all, take_left_out, e);
	if (r == 0)
		r = engine_query(e, "SELECT server, min(time), max(time) FROM {table:Table} GROUP BY server ORDER BY server", all,
				 take_server, e);
	return r == 0 ? find_interval(e) : r;
}

int fleet_engine_open(const char *url, const char *credentials_file, const char *ca_file, struct fleet_engine **ret,
		      char **ret_error)
{
	struct fleet_engine *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->extent = (struct fleet_span){INT64_MAX, INT64_MIN};
	e->fleet = calloc(1, sizeof(*e->fleet));
	r = e->fleet ? clickhouse_open(url, credentials_file, ca_file, &e->clickhouse, ret_error) : -ENOMEM;
	if (r == 0) {
		r = find_all(e);
		if (r < 0)
			fail_with(ret_error, r, "%s: %s", url, fleet_engine_error(e));
	}
	if (r < 0)
		fleet_engine_close(e);
	else
		*ret = e;
	return r;
}

void fleet_engine_close(struct fleet_engine *e)
{
	if (!e)
		return;
	clickhouse_close(e->clickhouse);
	fleet_free(e->fleet);
	free(e->fleet);
	free(e->table);
	free(e->error);
	free(e);
}

/* --- Equations 1 and 2 --- */

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
	r = reduce_moments(e, span, only, ret->moments);
	return r < 0 ? r : reduce_statistic(e, q, span, ret->moments, ret->statistic);
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
	int c = n == 4 ? engine_index(f[0], t->e->fleet->counters.n) : -ENOENT;
	int64_t k;

	if (c < 0)
		return 0;
	k = strtoll(f[1], NULL, 10);
	return put_within(t->within, -1, t->start + k * t->e->fleet->interval, c, strtoull(f[2], NULL, 10), strtod(f[3], NULL));
}

/* The window's part that the table has. */
static struct fleet_span covered(const struct fleet_engine *e, struct fleet_span span)
{
	return (struct fleet_span){span.from > e->extent.from ? span.from : e->extent.from,
				   span.to < e->extent.to ? span.to : e->extent.to};
}

/* "intDiv(time - ts + d/2, d)": the point a row lies nearest to. */
static void put_point(struct str *sql, int64_t ts, int64_t interval)
{
	str_printf(sql, "intDiv(time - %" PRId64 ", %" PRId64 ")", ts - interval / 2, interval);
}

/* --- the time that servers have in common: [ts, tf] and Equation 3's N, as the local analyses find them --- */

#define LATE_SHARE 20 /* a twentieth of the window */

struct ends {
	int server;
	int64_t first, last;
	bool used;
};

struct common {
	struct fleet_engine *e;
	VEC(struct ends) servers;
	int64_t ts;
	uint32_t n;
	struct fleet_span span; /* of the rows that lie nearest to one of the n points */
};

static int take_ends(void *data, size_t n, char *const *f)
{
	struct common *c = data;
	int server = n == 3 && f[0] ? fleet_find_server(c->e->fleet, f[0]) : -ENOENT;

	if (server < 0)
		return 0;
	return VEC_PUSH(c->servers, (struct ends){server, strtoll(f[1], NULL, 10), strtoll(f[2], NULL, 10), true});
}

static int by_first(const void *a, const void *b)
{
	const struct ends *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static int by_last(const void *a, const void *b)
{
	const struct ends *x = a, *y = b;

	return x->last < y->last ? -1 : x->last > y->last;
}

/* Late joiners and servers that died are left out, unless they are the half of all. */
static void leave_out_late(struct common *c)
{
	size_t n = c->servers.n, used = 0;
	int64_t begin, end, much;

	qsort(c->servers.v, n, sizeof(*c->servers.v), by_first);
	begin = c->servers.v[(n - 1) / 2].first;
	qsort(c->servers.v, n, sizeof(*c->servers.v), by_last);
	end = c->servers.v[(n - 1) / 2].last;
	much = (end - begin) / LATE_SHARE > 2 * c->e->fleet->interval ? (end - begin) / LATE_SHARE : 2 * c->e->fleet->interval;
	for (size_t i = 0; i < n; i++) {
		c->servers.v[i].used = c->servers.v[i].first <= begin + much && c->servers.v[i].last >= end - much;
		used += c->servers.v[i].used;
	}
	for (size_t i = 0; i < n && used * 2 < n; i++) {
		used += !c->servers.v[i].used;
		c->servers.v[i].used = true;
	}
}

/* `with_last`: the point of the last row counts too, as where rows are paired by time. */
static int find_common(struct fleet_engine *e, struct fleet_span window, bool with_last, struct common *ret)
{
	int64_t tf = INT64_MAX, d = e->fleet->interval;
	int r;

	*ret = (struct common){.e = e, .ts = INT64_MIN};
	r = engine_query(e, "SELECT server, min(time), max(time)" ROWS " GROUP BY server", window, take_ends, ret);
	if (r < 0)
		return r;
	if (!ret->servers.n || d <= 0)
		return fail_again(&e->error, -ENODATA, "no server has two rows in that time");
	leave_out_late(ret);
	for (size_t i = 0; i < ret->servers.n; i++) {
		const struct ends *s = &ret->servers.v[i];

		if (!s->used)
			continue;
		ret->ts = s->first > ret->ts ? s->first : ret->ts;
		tf = s->last < tf ? s->last : tf;
	}
	ret->n = tf > ret->ts && (tf - ret->ts) / d < UINT32_MAX ? (uint32_t)((tf - ret->ts) / d) + with_last : 0;
	ret->span = (struct fleet_span){ret->ts - d / 2, ret->ts - d / 2 + ret->n * d};
	if (ret->span.from < window.from)
		ret->span.from = window.from;
	return ret->n ? 0 : fail_again(&e->error, -ENODATA, "the servers have no time in common");
}

/* " AND server NOT IN (...)" of those that are left out. */
static void put_used(const struct common *c, struct str *sql)
{
	bool any = false;

	for (size_t i = 0; i < c->servers.n; i++)
		if (!c->servers.v[i].used) {
			str_puts(sql, any ? ", " : " AND server NOT IN (");
			engine_put_name(sql, c->e->fleet->servers.v[c->servers.v[i].server].name);
			any = true;
		}
	if (any)
		str_putc(sql, ')');
}

static int within_times(struct fleet_engine *e, struct within *w)
{
	_cleanup_str_ struct str sql = {};
	struct common common;
	int r = find_common(e, w->q->window, false, &common);
	struct time_read t = {e, w, common.ts};

	str_puts(&sql, "SELECT ");
	engine_put_indices(e, false, &sql);
	str_puts(&sql, ", ");
	put_point(&sql, common.ts, e->fleet->interval ? e->fleet->interval : 1);
	str_puts(&sql, " AS point, count(), ");
	put_statistic(w->q, &sql);
	str_puts(&sql, ROWS);
	engine_put_only(e, w->q->counter, &sql);
	put_used(&common, &sql);
	str_puts(&sql, " GROUP BY c, point");
	r = r < 0 ? r : sql.error ? sql.error : engine_query(e, sql.data, common.span, take_time_value, &t);
	VEC_FREE(common.servers);
	return r;
}

static int run_within(struct fleet_engine *e, struct fleet_engine *reference, const struct fleet_question *q,
		      struct fleet_findings *ret)
{
	struct totals totals = {};
	struct within w = {q, &totals, ret, 0};
	int r = find_totals(e, q, q->counter, q->window, &totals);

	(void)reference;
	if (r == 0)
		r = q->by_time ? within_times(e, &w) : reduce_local(e, q, q->window, take_server_value, &w);
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

static int run_between(struct fleet_engine *e, struct fleet_engine *reference, const struct fleet_question *q,
		       struct fleet_findings *ret)
{
	struct fleet_engine *from = reference ? reference : e;
	struct totals now = {}, usual = {};
	int r = find_totals(e, q, q->counter, q->window, &now);

	if (r == 0)
		r = find_totals(from, q, from == e ? q->counter : -1, q->usual, &usual);
	if (r < 0 && from != e && from->error)
		fail_again(&e->error, r, "%s", from->error);
	for (size_t c = 0; r == 0 && c < e->fleet->counters.n; c++)
		if (q->counter < 0 || (size_t)q->counter == c)
			r = put_between(q, (int)c, &now, &usual, fleet_find_counter(from->fleet, e->fleet->counters.v[c].name), ret);
	totals_free(&now);
	totals_free(&usual);
	return r;
}

/* --- correlation --- */

struct symptom {
	struct fleet_engine *e;
	const struct fleet_question *q;
	struct fleet_findings *ret;
	struct common common;
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

/* One series at its points: of a server, or the fleet's (upper) median; its ranks with spearman. */
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
	put_point(&sql, s->common.ts, s->e->fleet->interval);
	str_puts(&sql, server >= 0 ? " AS point, any(toFloat32(value))" : " AS point, quantileExact(0.5)(toFloat32(value))");
	str_puts(&sql, ROWS " AND counter = {counter:String}");
	if (server >= 0)
		str_puts(&sql, " AND server = {server:String}");
	else
		put_used(&s->common, &sql);
	str_puts(&sql, " GROUP BY point");
	s->v = to;
	r = sql.error ? sql.error : clickhouse_query(s->e->clickhouse, sql.data, p, take_point, s);
	s->v = kept;
	if (r < 0)
		return fail_again(&s->e->error, r, "%s", clickhouse_error(s->e->clickhouse));
	if (s->q->spearman) {
		_cleanup_free_ uint32_t *order = malloc((s->n + 1) * sizeof(*order));

		if (!order)
			return -ENOMEM;
		rank_values(to, s->n, order);
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
	put_point(sql, s->common.ts, s->e->fleet->interval);
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
 * of those that are equal (as rank_values()). */
static void put_ranks(const struct symptom *s, struct str *sql)
{
	str_puts(sql, ", groupArray(" V " + 0) AS v, groupArray("); /* -0 + 0 is 0 */
	put_point(sql, s->common.ts, s->e->fleet->interval);
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
	x.server = engine_index(f[0], s->e->fleet->servers.n);
	x.counter = engine_index(f[1], s->e->fleet->counters.n);
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
	engine_put_indices(s->e, true, &sql);
	put_lags(s, &sql);
	str_puts(&sql, ROWS);
	put_used(&s->common, &sql);
	str_puts(&sql, " GROUP BY s, c SETTINGS distributed_group_by_no_merge = 1");
	return sql.error ? sql.error : engine_query(s->e, sql.data, s->common.span, take_correlation, s);
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
			x->p = shift_p(s->v, v, s->n, s->q->max_lag, SHIFTS, x->r, room);
	}
	return r;
}

static int check_correlation(struct fleet_engine *e, const struct fleet_question *q)
{
	if (q->counter < 0)
		return fail_again(&e->error, -EINVAL, "a symptom is needed");
	return 0;
}

static int run_correlation(struct fleet_engine *e, struct fleet_engine *reference, const struct fleet_question *q,
			   struct fleet_findings *ret)
{
	struct symptom s = {.e = e, .q = q, .ret = ret, .least = isnan(q->threshold) ? CORRELATION_LEAST : q->threshold};
	int r = check_correlation(e, q);

	(void)reference;
	if (r == 0)
		r = find_common(e, q->window, true, &s.common);
	s.n = s.common.n;
	if (r == 0 && s.n > POINTS_MAX)
		r = fail_again(&e->error, -E2BIG, "%u time points: up to %d can be correlated; choose --from and --to", s.n, POINTS_MAX);
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

static const struct {
	const char *name;
	int (*run)(struct fleet_engine *e, struct fleet_engine *reference, const struct fleet_question *q, struct fleet_findings *ret);
} analyses[] = {{"within", run_within}, {"between", run_between}, {"correlation", run_correlation}};

int fleet_engine_run(struct fleet_engine *e, struct fleet_engine *reference, const char *analysis,
		     const struct fleet_question *q, struct fleet_findings *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(analyses); i++)
		if (strcmp(analyses[i].name, analysis) == 0) {
			int r = analyses[i].run(e, reference, q, ret);

			ret->analysis = analyses[i].name;
			if (r == 0)
				fleet_findings_sort(ret);
			return r;
		}
	return fail_again(&e->error, -EOPNOTSUPP, "'%s' is computed by the local engine only; ClickHouse computes within, between and correlation",
			   analysis);
}

/* --- views --- */

struct view_read {
	struct fleet_engine *e;
	struct fleet_view *ret;
};

static int take_summary(void *data, size_t n, char *const *f)
{
	struct view_read *v = data;
	struct fleet_summary x = {.server = -1, .time = INT64_MIN};
	double *const to[] = {&x.mean, &x.sd, &x.min, &x.max, &x.median, &x.q05, &x.q25, &x.q75, &x.q95};

	if (n != 2 + ARRAY_SIZE(to) || !f[0])
		return 0;
	if (v->ret->kind == FLEET_TIME_VIEW)
		x.time = v->ret->ts + strtoll(f[0], NULL, 10) * v->ret->d;
	else
		x.server = fleet_find_server(v->e->fleet, f[0]);
	x.n = (uint32_t)strtoul(f[1], NULL, 10);
	for (size_t i = 0; i < ARRAY_SIZE(to); i++)
		*to[i] = strtod(f[2 + i], NULL);
	return VEC_PUSH(v->ret->rows, x);
}

static int compare_summaries(const void *a, const void *b)
{
	const struct fleet_summary *x = a, *y = b;

	if (x->server != y->server)
		return x->server < y->server ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

static void put_summary(struct fleet_engine *e, int counter, bool by_time, struct str *sql)
{
	static const struct fleet_question parts[] = {{.statistic = FLEET_MEDIAN},
						      {.statistic = FLEET_QUANTILE, .quantile = 0.05},
						      {.statistic = FLEET_QUANTILE, .quantile = 0.25},
						      {.statistic = FLEET_QUANTILE, .quantile = 0.75},
						      {.statistic = FLEET_QUANTILE, .quantile = 0.95}};

	str_printf(sql, " AS place, count(), avg(" V "), %s, min(" V "), max(" V ")",
		   by_time ? "arrayReduce('stddevPopStable', groupArray(" V "))" : "stddevPopStable(" V ")");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		str_puts(sql, ", ");
		put_statistic(&parts[i], sql);
	}
	str_puts(sql, ROWS);
	engine_put_only(e, counter, sql);
	str_puts(sql, " GROUP BY place");
	if (!by_time)
		str_puts(sql, " SETTINGS distributed_group_by_no_merge = 1");
}

int fleet_engine_view(struct fleet_engine *e, int counter, struct fleet_span window, enum fleet_view_kind kind, struct fleet_view *ret)
{
	struct fleet_span span = covered(e, window);
	struct fleet_view v = {.kind = kind, .fleet = e->fleet, .counter = counter, .ts = span.from, .d = e->fleet->interval ? e->fleet->interval : 1};
	struct view_read read = {e, &v};
	_cleanup_str_ struct str sql = {};
	int r;

	if (kind == FLEET_DETAIL_VIEW)
		return fail_again(&e->error, -EOPNOTSUPP, "the detail view needs every value: load the data, or ask for --by server or --by time");
	str_puts(&sql, "SELECT ");
	if (kind == FLEET_TIME_VIEW)
		put_point(&sql, v.ts, v.d);
	else
		str_puts(&sql, "server");
	put_summary(e, counter, kind == FLEET_TIME_VIEW, &sql);
	r = sql.error ? sql.error : engine_query(e, sql.data, span, take_summary, &read);
	if (r < 0) {
		VEC_FREE(v.rows);
		return r;
	}
	if (v.rows.n)
		qsort(v.rows.v, v.rows.n, sizeof(*v.rows.v), compare_summaries);
	v.n = kind == FLEET_TIME_VIEW ? (uint32_t)v.rows.n : 0;
	*ret = v;
	return 0;
}

/* --- writing --- */

static const char *const tables_sql[] = {
	"CREATE TABLE IF NOT EXISTS fleet_values (server String, counter String, time Int64, value Float64) ENGINE = MergeTree() "
	"PARTITION BY toYYYYMM(toDate(intDiv(time, 1000000000))) ORDER BY (counter, server, time)",
	"CREATE TABLE IF NOT EXISTS fleet_counters (counter String, kind String, unit String, help String) ENGINE = "
	"ReplacingMergeTree() PARTITION BY tuple() ORDER BY counter",
};

static int make_tables(struct clickhouse *c, const char **ret_table)
{
	const char *cluster = clickhouse_cluster(c), *given = clickhouse_table(c);
	const struct clickhouse_parameter p[] = {{"cluster", {.text = cluster ? cluster : ""}}, {}};
	int r = 0;

	*ret_table = given ? given : cluster ? "fleet_values_all" : "fleet_values";
	for (size_t i = 0; r == 0 && !given && i < ARRAY_SIZE(tables_sql); i++)
		r = clickhouse_query(c, tables_sql[i], NULL, NULL, NULL);
	if (r == 0 && cluster && !given)
		r = clickhouse_query(c, "CREATE TABLE IF NOT EXISTS fleet_values_all AS fleet_values ENGINE = "
				     "Distributed({cluster:Identifier}, currentDatabase(), fleet_values, cityHash64(server))", p, NULL, NULL);
	return r;
}

static int save_values(struct clickhouse *c, const char *table, const struct fleet *f)
{
	struct clickhouse_insert *in;
	int r = clickhouse_insert_open(c, table, "server, counter, time, value", &in), closed;

	if (r < 0)
		return r;
	for (size_t k = 0; k < f->counters.n; k++)
		for (size_t i = 0; i < f->servers.n; i++) {
			const struct fleet_server *s = &f->servers.v[i];

			for (uint32_t row = 0; r == 0 && s->column[k] && row < s->n; row++) {
				if (isnan(s->column[k][row]))
					continue;
				insert_text(in, s->name);
				insert_text(in, f->counters.v[k].name);
				insert_int64(in, s->time[row]);
				insert_float64(in, (double)s->column[k][row]);
				r = insert_row(in);
			}
		}
	closed = insert_close(in);
	return r < 0 ? r : closed;
}

static int save_counters(struct clickhouse *c, const struct fleet *f)
{
	struct clickhouse_insert *in;
	int r = clickhouse_insert_open(c, "fleet_counters", "counter, kind, unit, help", &in), closed;

	if (r < 0)
		return r;
	for (size_t k = 0; r == 0 && k < f->counters.n; k++) {
		const struct fleet_counter *counter = &f->counters.v[k];

		insert_text(in, counter->name);
		insert_text(in, counter->kind == FLEET_COUNTER ? "rate" : "gauge");
		insert_text(in, counter->unit ? counter->unit : "");
		insert_text(in, counter->help ? counter->help : "");
		r = insert_row(in);
	}
	closed = insert_close(in);
	return r < 0 ? r : closed;
}

int fleet_engine_save(const char *url, const char *credentials_file, const char *ca_file, const struct fleet *f,
		      char **ret_error)
{
	struct clickhouse *c;
	const char *table;
	int r = clickhouse_open(url, credentials_file, ca_file, &c, ret_error);

	if (r < 0)
		return r;
	r = make_tables(c, &table);
	if (r == 0)
		r = save_values(c, table, f);
	if (r == 0)
		r = save_counters(c, f);
	if (r < 0)
		fail_with(ret_error, r, "%s", clickhouse_error(c));
	clickhouse_close(c);
	return r;
}
