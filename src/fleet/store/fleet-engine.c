#include "fleet/store/fleet-engine.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/store/fleet-reduce.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

#define V    ENGINE_VALUE
#define ROWS ENGINE_ROWS

const char *fleet_engine_error(const struct fleet_engine *e)
{
	return e->error ? e->error : "out of memory";
}

const struct fleet *fleet_engine_fleet(const struct fleet_engine *e)
{
	return e->fleet;
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
		return str_fail_again(&e->error, r, "%s", clickhouse_error(e->clickhouse));
	return e->table ? 0 : str_fail_again(&e->error, -ENOENT, "the database has no table fleet_values: docs/clickhouse.md says how it is made");
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
		counter->unit = fleet_text(f[2]);
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
	return sql.error ? sql.error : fleet_engine_query(e, sql.data, all, take_counter, e);
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

/* The normal distance of two rows: of one counter, the median over servers. */
static int find_interval(struct fleet_engine *e)
{
	const struct clickhouse_parameter p[] = {{"table", {.text = e->table}}, {"counter", {.text = e->fleet->counters.v[0].name}}, {}};
	int r;

	r = clickhouse_query(e->clickhouse, "SELECT quantileExact(0.5)(gap) FROM (SELECT server, (max(time) - min(time)) / (count() - 1) AS gap "
			     "FROM {table:Table} WHERE counter = {counter:String} GROUP BY server HAVING count() > 1)", p, take_gap, e);
	return r < 0 ? str_fail_again(&e->error, r, "%s", clickhouse_error(e->clickhouse)) : 0;
}

static int find_all(struct fleet_engine *e)
{
	const struct fleet_span all = {INT64_MIN, INT64_MAX};
	bool about = false;
	int r = find_table(e);

	if (r == 0)
		r = find_counters(e, &about);
	if (r == 0 && !e->fleet->counters.n)
		r = str_fail_again(&e->error, -ENODATA, "the table %s has no levels or rates", e->table);
	if (r == 0 && about)
		r = fleet_engine_query(e, "SELECT counter, kind, unit, help FROM fleet_counters", all, take_about, e);
	if (r == 0 && about)
		r = fleet_engine_query(e, "SELECT count() FROM fleet_counters WHERE kind = 'counter'", all, take_left_out, e);
	if (r == 0)
		r = fleet_engine_query(e, "SELECT server, min(time), max(time) FROM {table:Table} GROUP BY server ORDER BY server", all,
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
			str_fail(ret_error, r, "%s: %s", url, fleet_engine_error(e));
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

static const struct {
	const char *name;
	int (*run)(struct fleet_engine *e, struct fleet_engine *reference, const struct fleet_question *q, struct fleet_findings *ret);
} analyses[] = {{"within", fleet_engine_run_within}, {"between", fleet_engine_run_between}, {"correlation", fleet_engine_run_correlation}};

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
	return str_fail_again(&e->error, -EOPNOTSUPP, "'%s' is computed by the local engine only; ClickHouse computes within, between and correlation",
			   analysis);
}
