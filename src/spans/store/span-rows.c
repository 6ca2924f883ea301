#include "spans/store/span-rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/net/clickhouse.h"

struct span_rows {
	const struct names *names;
	struct clickhouse *clickhouse;
	struct clickhouse_insert *insert;
	uint64_t spans;
};

static const char table_sql[] =
	"CREATE TABLE IF NOT EXISTS spans (trace_id String, span_id String, parent_id String, service String, name String, kind String, "
	"status String, start Int64, duration Int64, weight Float64, resource Nested(key String, value String), "
	"attribute Nested(key String, value String), cell UInt16 DEFAULT toUInt16(bitShiftRight(cityHash64(trace_id), 52))) "
	"ENGINE = MergeTree() PARTITION BY toYYYYMMDD(toDate(intDiv(start, 1000000000))) ORDER BY (cell, start)";
static const char columns[] = "trace_id, span_id, parent_id, service, name, kind, status, start, duration, weight, `resource.key`, "
			      "`resource.value`, `attribute.key`, `attribute.value`";

static int make_tables(struct clickhouse *c, const char **ret_table)
{
	const char *cluster = clickhouse_cluster(c), *given = clickhouse_table(c);
	const struct clickhouse_parameter p[] = {{"cluster", {.text = cluster ? cluster : ""}}, {}};
	int r = 0;

	*ret_table = given ? given : cluster ? "spans_all" : "spans";
	if (!given)
		r = clickhouse_query(c, table_sql, NULL, NULL, NULL);
	if (r == 0 && cluster && !given)
		r = clickhouse_query(c, "CREATE TABLE IF NOT EXISTS spans_all AS spans ENGINE = "
				     "Distributed({cluster:Identifier}, currentDatabase(), spans, cityHash64(trace_id))", p, NULL, NULL);
	return r;
}

int span_rows_open(const char *url, const struct names *names, struct span_rows **ret, char **ret_error)
{
	struct span_rows *s = calloc(1, sizeof(*s));
	const char *table;
	int r = s ? clickhouse_open(url, NULL, NULL, &s->clickhouse, ret_error) : -ENOMEM;

	if (r < 0) {
		free(s);
		return r;
	}
	s->names = names;
	r = make_tables(s->clickhouse, &table);
	r = r ?: clickhouse_insert_open(s->clickhouse, table, columns, &s->insert);
	if (r < 0) {
		str_fail(ret_error, r, "%s", clickhouse_error(s->clickhouse));
		clickhouse_close(s->clickhouse);
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

static void put_id(struct span_rows *s, uint64_t id)
{
	char text[17] = "";

	if (id)
		snprintf(text, sizeof(text), "%016" PRIx64, id);
	clickhouse_insert_text(s->insert, text);
}

static void put_set(struct span_rows *s, uint32_t id)
{
	const struct attribute_set *set = names_get_set(s->names, id);

	clickhouse_insert_count(s->insert, set->n);
	for (uint32_t i = 0; i < set->n; i++)
		clickhouse_insert_text(s->insert, names_get(s->names, set->v[i].key));
	clickhouse_insert_count(s->insert, set->n);
	for (uint32_t i = 0; i < set->n; i++)
		clickhouse_insert_text(s->insert, names_get(s->names, set->v[i].value));
}

int span_rows_put(void *rows, const struct span *spans, uint32_t n)
{
	struct span_rows *s = rows;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct span *x = &spans[i];

		clickhouse_insert_text(s->insert,
				       SPAN_TRACE_ID(s->names, x->trace_high, x->trace_low));
		put_id(s, x->id);
		put_id(s, x->parent);
		clickhouse_insert_text(s->insert, names_get(s->names, x->service));
		clickhouse_insert_text(s->insert, names_get(s->names, x->operation));
		clickhouse_insert_text(s->insert, span_kind_name((enum span_kind)x->kind));
		clickhouse_insert_text(s->insert, x->flags & SPAN_ERROR ? "error" : "");
		clickhouse_insert_int64(s->insert, x->start);
		clickhouse_insert_int64(s->insert, x->end - x->start);
		clickhouse_insert_float64(s->insert, (double)x->weight / (double)SPAN_WEIGHT_ONE);
		put_set(s, x->resource);
		put_set(s, x->attributes);
		r = clickhouse_insert_row(s->insert);
		s->spans += r == 0;
	}
	return r;
}

int span_rows_close(struct span_rows *s, uint64_t *ret_spans, char **ret_error)
{
	int r = clickhouse_insert_close(s->insert);

	*ret_spans = s->spans;
	if (r < 0)
		str_fail(ret_error, r, "%s", clickhouse_error(s->clickhouse));
	clickhouse_close(s->clickhouse);
	free(s);
	return r;
}
