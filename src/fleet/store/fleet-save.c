#include "fleet/store/fleet-save.h"

#include <math.h>

#include "lib/data/cleanup.h"
#include "lib/net/clickhouse.h"

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
		VEC_EACH(s, f->servers) {
			for (uint32_t row = 0; r == 0 && s->column[k] && row < s->n; row++) {
				if (isnan(s->column[k][row]))
					continue;
				clickhouse_insert_text(in, s->name);
				clickhouse_insert_text(in, f->counters.v[k].name);
				clickhouse_insert_int64(in, s->time[row]);
				clickhouse_insert_float64(in, (double)s->column[k][row]);
				r = clickhouse_insert_row(in);
			}
		}
	closed = clickhouse_insert_close(in);
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

		clickhouse_insert_text(in, counter->name);
		clickhouse_insert_text(in, counter->kind == FLEET_COUNTER ? "rate" : "gauge");
		clickhouse_insert_text(in, counter->unit ? counter->unit : "");
		clickhouse_insert_text(in, counter->help ? counter->help : "");
		r = clickhouse_insert_row(in);
	}
	closed = clickhouse_insert_close(in);
	return r < 0 ? r : closed;
}

int fleet_save(const char *url, const char *credentials_file, const char *ca_file, const struct fleet *f,
		      char **ret_error)
{
	struct clickhouse *c;
	const char *table;
	int r = clickhouse_open(url, credentials_file, ca_file, &c, ret_error);

	if (r < 0)
		return r;
	r = make_tables(c, &table);
	r = r ?: save_values(c, table, f);
	r = r ?: save_counters(c, f);
	if (r < 0)
		str_fail(ret_error, r, "%s", clickhouse_error(c));
	clickhouse_close(c);
	return r;
}
