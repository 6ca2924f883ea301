#include "fleet/store/fleet-reduce.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"

#define V    ENGINE_VALUE
#define ROWS ENGINE_ROWS

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
		fleet_reduce_put_statistic(&parts[i], sql);
	}
	str_puts(sql, ROWS);
	fleet_engine_put_only(e, counter, sql);
	str_puts(sql, " GROUP BY place");
	if (!by_time)
		str_puts(sql, " SETTINGS distributed_group_by_no_merge = 1");
}

int fleet_engine_view(struct fleet_engine *e, int counter, struct fleet_span window, enum fleet_view_kind kind, struct fleet_view *ret)
{
	struct fleet_span span = fleet_engine_covered(e, window);
	struct fleet_view v = {.kind = kind, .fleet = e->fleet, .counter = counter, .ts = span.from, .d = e->fleet->interval ? e->fleet->interval : 1};
	struct view_read read = {e, &v};
	_cleanup_str_ struct str sql = {};
	int r;

	if (kind == FLEET_DETAIL_VIEW)
		return str_fail_again(&e->error, -EOPNOTSUPP, "the detail view needs every value: load the data, or ask for --by server or --by time");
	str_puts(&sql, "SELECT ");
	if (kind == FLEET_TIME_VIEW)
		fleet_engine_put_point(&sql, v.ts, v.d);
	else
		str_puts(&sql, "server");
	put_summary(e, counter, kind == FLEET_TIME_VIEW, &sql);
	r = sql.error ? sql.error : fleet_engine_query(e, sql.data, span, take_summary, &read);
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
