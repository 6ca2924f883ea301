/* Counters in ClickHouse: clickhouse://[USER@]HOST[:PORT]/DATABASE[/TABLE] (docs/clickhouse.md).
 *
 *   flat           server String, counter String, time Int64 (ns since 1970), value Float64; next to it, where it is there,
 *                  fleet_counters: counter, kind ('gauge', 'counter' = a running sum, 'rate'), unit, help
 *   OpenTelemetry  otel_metrics_gauge and otel_metrics_sum, as the Collector's exporter makes them
 *
 * Without a table those of these names that the database has are read. Series come whole, one a row.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/net/clickhouse.h"

#define POINTS_MAX ((size_t)4 << 20) /* of a series */

/* OpenTelemetry's AggregationTemporality */
#define TEMPORALITY_DELTA 1

struct tables {
	const struct fleet_input *input;
	struct intake *into;
	struct clickhouse *clickhouse;
	char *flat, *gauges, *sums; /* what is there */
	bool counters;		    /* fleet_counters is */
	uint64_t series, deltas;
	VEC(int64_t) times;
	VEC(double) values;
};

/* --- a series that has come --- */

static bool read_times(struct tables *t, struct reader *in)
{
	uint64_t n = reader_varint(in);

	if (in->bad || n > POINTS_MAX || (size_t)(in->end - in->at) / 8 < n) {
		in->bad = true;
		return false;
	}
	t->times.n = t->values.n = 0;
	for (uint64_t i = 0; i < n; i++)
		if (VEC_PUSH(t->times, clickhouse_read_int64(in)) < 0)
			return false;
	return true;
}

static bool read_values(struct tables *t, struct reader *in)
{
	uint64_t n = reader_varint(in);

	if (in->bad || (size_t)(in->end - in->at) / 8 < n) {
		in->bad = true;
		return false;
	}
	for (uint64_t i = 0; i < n; i++)
		if (VEC_PUSH(t->values, clickhouse_read_float64(in)) < 0)
			return false;
	return true;
}

static int put_series(struct tables *t, const char *server, const char *counter, const struct counter_info *info)
{
	int s, c;

	if (t->times.n != t->values.n) {
		intake_bad(t->into, t->input->location, 0, "%s of %s: %zu times, but %zu values", counter, server, t->times.n, t->values.n);
		return 0;
	}
	intake_progress(t->into, ++t->series, 0);
	if (!selection_wants_counter(t->input, counter))
		return 0;
	s = intake_server(t->into, server);
	c = intake_counter(t->into, counter, info);
	if (s < 0 || c < 0)
		return -ENOMEM;
	return intake_column(t->into, s, c, t->times.n, t->times.v, t->values.v);
}

/* server, counter, times, values */
static int take_flat(void *data, struct reader *in)
{
	struct tables *t = data;
	_cleanup_free_ char *server = reader_text(in), *counter = in->bad ? NULL : reader_text(in);

	if (in->bad || !counter || !read_times(t, in) || !read_values(t, in))
		return in->bad ? 0 : -ENOMEM;
	return put_series(t, server, counter, NULL);
}

/* server, metric, attributes, unit, description, is a running sum, temporality, times, values */
static int take_otel(void *data, struct reader *in)
{
	struct tables *t = data;
	_cleanup_free_ char *server = reader_text(in), *metric = in->bad ? NULL : reader_text(in);
	_cleanup_free_ char *attributes = in->bad ? NULL : reader_text(in), *unit = in->bad ? NULL : reader_text(in);
	_cleanup_free_ char *help = in->bad ? NULL : reader_text(in);
	int64_t monotonic = in->bad ? 0 : clickhouse_read_int64(in), temporality = in->bad ? 0 : clickhouse_read_int64(in);
	_cleanup_str_ struct str counter = {};
	struct counter_info info = {.kind = FLEET_GAUGE, .unit = unit, .help = help};

	if (in->bad || !help || !read_times(t, in) || !read_values(t, in))
		return in->bad ? 0 : -ENOMEM;
	str_printf(&counter, *attributes ? "%s{%s}" : "%s", metric, attributes);
	if (counter.error)
		return counter.error;
	if (monotonic && temporality != TEMPORALITY_DELTA)
		info.kind = FLEET_COUNTER;
	t->deltas += monotonic && temporality == TEMPORALITY_DELTA;
	return put_series(t, server, counter.data, &info);
}

static int take_about(void *data, size_t n, char *const *fields)
{
	struct tables *t = data;
	struct counter_info info = {.unit = n > 2 && fields[2] && *fields[2] ? fields[2] : NULL,
				    .help = n > 3 && fields[3] && *fields[3] ? fields[3] : NULL};
	int r = 0;

	if (n < 2 || !fields[0] || !fields[1])
		return 0;
	if (strcmp(fields[1], "counter") == 0)
		info.kind = FLEET_COUNTER;
	else if (strcmp(fields[1], "gauge") == 0 || strcmp(fields[1], "rate") == 0)
		info.kind = FLEET_GAUGE;
	if (selection_wants_counter(t->input, fields[0]))
		r = intake_counter(t->into, fields[0], &info);
	return r < 0 ? r : 0;
}

/* --- what is asked --- */

static const char flat_sql[] = "SELECT server, counter, groupArray(toInt64(time)), groupArray(toFloat64(value)) FROM {table:Table}"
			       " WHERE time >= {from:Int64} AND time < {to:Int64} GROUP BY server, counter";

/* Where a resource does not say its host, its instance or its service stands for it. */
static const char otel_sql[] =
	"WITH 0 AS Zero SELECT multiIf({label:String} != '', ResourceAttributes[{label:String}], ResourceAttributes['host.name'] != '',"
	" ResourceAttributes['host.name'], ResourceAttributes['service.instance.id'] != '',"
	" ResourceAttributes['service.instance.id'], ServiceName) AS server, toString(MetricName) AS metric,"
	" arrayStringConcat(arrayMap((k, v) -> concat(k, '=\"', v, '\"'), mapKeys(Attributes), mapValues(Attributes)), ',') AS attributes,"
	" any(toString(MetricUnit)), any(toString(MetricDescription)),"
	" toInt64(any({monotonic:Identifier})), toInt64(any({temporality:Identifier})),"
	" groupArray(toUnixTimestamp64Nano(TimeUnix)), groupArray(toFloat64(Value)) FROM {table:Table}"
	" WHERE TimeUnix >= fromUnixTimestamp64Nano({from:Int64}) AND TimeUnix < fromUnixTimestamp64Nano({to:Int64})"
	" GROUP BY server, metric, attributes";

static int load_flat(struct tables *t)
{
	const struct clickhouse_parameter p[] = {
		{"table", {.text = t->flat}}, {"from", {.integer = t->input->from}}, {"to", {.integer = t->input->to}}, {}};
	int r = 0;

	if (t->counters)
		r = clickhouse_query(t->clickhouse, "SELECT counter, kind, unit, help FROM fleet_counters", NULL, take_about, t);
	return r < 0 ? r : clickhouse_query_binary(t->clickhouse, flat_sql, p, take_flat, t);
}

static int load_otel(struct tables *t, const char *table, bool sums)
{
	const struct clickhouse_parameter p[] = {
		{"table", {.text = table}},
		{"label", {.text = t->input->server_column ? t->input->server_column : ""}},
		{"monotonic", {.text = sums ? "IsMonotonic" : "Zero"}},
		{"temporality", {.text = sums ? "AggregationTemporality" : "Zero"}},
		/* within what DateTime64 holds */
		{"from", {.integer = t->input->from < 0 ? 0 : t->input->from}},
		{"to", {.integer = t->input->to}},
		{}};

	return clickhouse_query_binary(t->clickhouse, otel_sql, p, take_otel, t);
}

static int take_table(void *data, size_t n, char *const *fields)
{
	struct tables *t = data;
	char **to;

	if (n < 1 || !fields[0])
		return 0;
	t->counters |= strcmp(fields[0], "fleet_counters") == 0;
	to = strcmp(fields[0], "otel_metrics_gauge") == 0 ? &t->gauges :
	     strcmp(fields[0], "otel_metrics_sum") == 0	  ? &t->sums :
	     strcmp(fields[0], "fleet_values_all") == 0 || (strcmp(fields[0], "fleet_values") == 0 && !t->flat) ? &t->flat :
														  NULL;
	if (to) {
		free(*to);
		*to = strdup(fields[0]);
		if (!*to)
			return -ENOMEM;
	}
	return 0;
}

static int take_column(void *data, size_t n, char *const *fields)
{
	int *otel = data;

	*otel |= (n == 1 && fields[0] && strcmp(fields[0], "MetricName") == 0) ? 1 : 0;
	*otel |= (n == 1 && fields[0] && strcmp(fields[0], "IsMonotonic") == 0) ? 2 : 0;
	return 0;
}

/* A table that was named: its columns say which kind it is. */
static int look_at_table(struct tables *t, const char *table)
{
	const struct clickhouse_parameter p[] = {{"table", {.text = table}}, {}};
	char **to = &t->flat;
	int otel = 0, r;

	r = clickhouse_query(t->clickhouse, "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String}",
			     p, take_column, &otel);
	if (r < 0)
		return r;
	if (otel & 1)
		to = otel & 2 ? &t->sums : &t->gauges;
	free(*to);
	*to = strdup(table);
	return *to ? 0 : -ENOMEM;
}

static int find_tables(struct tables *t)
{
	const char *table = clickhouse_table(t->clickhouse);
	int r = clickhouse_query(t->clickhouse, "SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name", NULL,
				 take_table, t);

	if (r < 0 || !table)
		return r;
	FREE_ALL(t->flat, t->gauges, t->sums);
	t->flat = t->gauges = t->sums = NULL;
	return look_at_table(t, table);
}

static int load_tables(struct tables *t, char **ret_error)
{
	int r = find_tables(t);

	if (r == 0 && !t->flat && !t->gauges && !t->sums)
		return str_fail(ret_error, -ENOENT, "%s: there is no table of counters: neither fleet_values nor otel_metrics_gauge or "
				 "otel_metrics_sum (name another as clickhouse://HOST/DATABASE/TABLE; docs/clickhouse.md has their columns)",
				 t->input->location);
	if (r == 0 && t->flat)
		r = load_flat(t);
	if (r == 0 && t->gauges)
		r = load_otel(t, t->gauges, false);
	if (r == 0 && t->sums)
		r = load_otel(t, t->sums, true);
	if (r == 0 && t->deltas)
		intake_remark(t->into, "%llu sums are differences (delta temporality): whyslow reads them as levels",
			      (unsigned long long)t->deltas);
	return r < 0 ? str_fail(ret_error, r, "%s", clickhouse_error(t->clickhouse)) : 0;
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct tables t = {.input = input, .into = into};
	int r = clickhouse_open(input->location, input->token_file, input->ca_file, &t.clickhouse, ret_error);

	if (r < 0)
		return r;
	r = load_tables(&t, ret_error);
	clickhouse_close(t.clickhouse);
	FREE_ALL(t.flat, t.gauges, t.sums);
	VEC_FREE(t.times);
	VEC_FREE(t.values);
	return r;
}

static int recognise(const char *location)
{
	return str_starts(location, "clickhouse://") ? 50 : 0;
}

const struct fleet_source fleet_source_clickhouse = {
	.name = "clickhouse",
	.help = "ClickHouse: clickhouse://HOST/DATABASE[/TABLE], flat or OpenTelemetry's otel_metrics_*",
	.recognise = recognise,
	.load = load,
};
