#include "spans/formats/span-clickhouse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/vec.h"
#include "lib/net/clickhouse.h"

#define COLUMNS_MAX 32 /* of attributes */
#define PAIRS_MAX   256 /* attributes of one row's list */

/* The texts a row begins with. */
enum place { PLACE_TRACE, PLACE_SPAN, PLACE_PARENT, PLACE_NAME, PLACE_KIND, PLACE_STATUS, PLACE_STATE, PLACE_WEIGHT, PLACES };

struct column {
	char *name, *type;
};

struct span_table {
	struct clickhouse *clickhouse;
	char *table, *location;
	VEC(struct column) columns;
	char *text[PLACES]; /* expressions, '' where there is no such column */
	char *start, *duration, *cell, *service;
	char *lists[2][2];  /* of the resource's and the span's attributes: keys, values; NULL = none */
	char *links;	    /* ids of other traces that a span refers to, a list */
	char *begins;	    /* the column of the start, where it is a DateTime64: its index is used then */
	struct {
		const char *name; /* the attribute's */
		char *text;
	} own[2][COLUMNS_MAX]; /* columns that are attributes: of the resource, of the span */
	size_t n_own[2];
	char *error;
};

bool span_table_is(const char *location)
{
	return str_starts(location, "clickhouse://");
}

const char *span_table_error(const struct span_table *t)
{
	return t->error ? t->error : clickhouse_error(t->clickhouse);
}

void span_table_close(struct span_table *t)
{
	if (!t)
		return;
	clickhouse_close(t->clickhouse);
	VEC_FREE_EACH(t->columns, free(each->name); free(each->type));
	for (int i = 0; i < PLACES; i++)
		free(t->text[i]);
	for (int i = 0; i < 2; i++) {
		FREE_ALL(t->lists[i][0], t->lists[i][1]);
		for (size_t k = 0; k < t->n_own[i]; k++)
			free(t->own[i][k].text);
	}
	FREE_ALL(t->start, t->begins, t->links, t->duration, t->cell, t->service, t->table, t->location, t->error, t);
}

/* --- which column is what ----------------------------------------------------------------------------------------- */

static const struct column *column_named(const struct span_table *t, const char *name)
{
	return VEC_FIND(x, t->columns, !strcmp(x->name, name));
}

static const struct column *column_of(const struct span_table *t, const struct span_mapping *m, enum span_field field)
{
	for (char *const *key = m->keys[field]; *key; key++) {
		const struct column *c = column_named(t, *key);

		if (c)
			return c;
	}
	return NULL;
}

/* SQL with the column's name for every "{c:Identifier}". NULL without memory. */
static char *expression(const char *sql, const char *column)
{
	const struct clickhouse_parameter p[] = {{"c", {.text = column}}, {}};
	struct str s = {};

	if (clickhouse_sql(&s, sql, p) < 0 || s.error)
		str_free(&s);
	return s.data;
}

static char *as_text(const struct column *c)
{
	return c ? expression(strstr(c->type, "Nullable(") ? "ifNull(toString({c:Identifier}), '')" : "toString({c:Identifier})", c->name) :
		   strdup("''");
}

static int64_t unit_of(const char *name)
{
	static const struct {
		const char *end;
		int64_t ns;
	} units[] = {{"us", 1000}, {"micro", 1000}, {"ms", 1000000}, {"milli", 1000000}, {"seconds", 1000000000}};
	size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (n > strlen(units[i].end) && !strcasecmp(name + n - strlen(units[i].end), units[i].end))
			return units[i].ns;
	return 1;
}

/* ns */
static char *as_time(const struct column *c)
{
	char *sql, *made = NULL;

	if (strstr(c->type, "DateTime64"))
		return expression("toUnixTimestamp64Nano({c:Identifier})", c->name);
	sql = expression("toInt64({c:Identifier})", c->name);
	if (sql && unit_of(c->name) > 1 && asprintf(&made, "%s * %" PRId64, sql, unit_of(c->name)) < 0)
		made = NULL;
	if (sql && unit_of(c->name) == 1)
		return sql;
	free(sql);
	return made;
}

static int find_lists(struct span_table *t)
{
	static const char *const maps[] = {"ResourceAttributes", "SpanAttributes"}, *const nested[] = {"resource", "attribute"};

	for (int i = 0; i < 2; i++) {
		const struct column *c = column_named(t, maps[i]);
		char name[32];

		if (c && str_starts(c->type, "Map(")) {
			/* their texts may be LowCardinality */
			t->lists[i][0] = expression("arrayMap(x -> toString(x), mapKeys({c:Identifier}))", c->name);
			t->lists[i][1] = expression("arrayMap(x -> toString(x), mapValues({c:Identifier}))", c->name);
		} else {
			snprintf(name, sizeof(name), "%s.key", nested[i]);
			if (!column_named(t, name))
				continue;
			t->lists[i][0] = expression("{c:Identifier}", name);
			snprintf(name, sizeof(name), "%s.value", nested[i]);
			t->lists[i][1] = expression("{c:Identifier}", name);
		}
		if (!t->lists[i][0] || !t->lists[i][1])
			return -ENOMEM;
	}
	return 0;
}

/* As the OpenTelemetry Collector's exporter keeps links: lists side by side. */
static int find_links(struct span_table *t)
{
	const struct column *c = column_named(t, "Links.TraceId");

	t->links = c && str_starts(c->type, "Array(") ? expression("arrayMap(x -> toString(x), {c:Identifier})", c->name) : strdup("emptyArrayString()");
	return t->links ? 0 : -ENOMEM;
}

static bool is_plain(const char *type)
{
	return !str_starts(type, "Map(") && !str_starts(type, "Array(") && !str_starts(type, "Nested(") && !str_starts(type, "Tuple(");
}

static bool is_own(const struct span_table *t, const char *name)
{
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < t->n_own[i]; k++)
			if (!strcmp(t->own[i][k].name, name))
				return true;
	return false;
}

/* Every column the mapping names for an attribute: processes' are the resource's. The service is what exporters take out of
 * the resource: by the same name it is the same attribute. */
static int find_own(struct span_table *t, const struct span_mapping *m)
{
	for (int f = FIELD_SERVICE; f < FIELD_WEIGHT; f++) {
		int which = f == FIELD_WORKLOAD || f == FIELD_CALLEE;

		for (char *const *key = m->keys[f]; *key; key++) {
			const struct column *c = column_named(t, *key);
			const char *name = f == FIELD_SERVICE ? m->keys[f][0] : *key;

			if (!c || !is_plain(c->type) || is_own(t, name) || t->n_own[which] == COLUMNS_MAX)
				continue;
			t->own[which][t->n_own[which]].name = name;
			t->own[which][t->n_own[which]].text = as_text(c);
			if (!t->own[which][t->n_own[which]++].text)
				return -ENOMEM;
		}
	}
	return 0;
}

static int find_times(struct span_table *t, const struct span_mapping *m)
{
	const struct column *start = column_of(t, m, FIELD_START), *duration = column_of(t, m, FIELD_DURATION), *end = column_of(t, m, FIELD_END);
	_cleanup_free_ char *until = end ? as_time(end) : NULL;

	if (!start || (!duration && !end))
		return str_fail_again(&t->error, -EINVAL, "%s: no column is the start, or none the duration or the end (docs/clickhouse.md; a "
				  "mapping file names others)", t->location);
	t->begins = strstr(start->type, "DateTime64") ? expression("{c:Identifier}", start->name) : NULL;
	t->start = as_time(start);
	t->duration = duration ? as_time(duration) : NULL;
	if (t->start && until && !duration && asprintf(&t->duration, "%s - %s", until, t->start) < 0)
		t->duration = NULL;
	return t->start && t->duration ? 0 : -ENOMEM;
}

/* The service, for what is asked without a reader: a column, or the attribute that semantic conventions have. */
static char *service_text(const struct span_table *t, const struct span_mapping *m)
{
	const struct column *c = column_of(t, m, FIELD_SERVICE);
	char *made;

	if (c || !t->lists[0][0])
		return as_text(c);
	if (asprintf(&made, "arrayElement(%s, indexOf(%s, 'service.name'))", t->lists[0][1], t->lists[0][0]) < 0)
		return NULL;
	return made;
}

static int find_columns(struct span_table *t, const struct span_mapping *m)
{
	static const int fields[PLACES] = {[PLACE_TRACE] = FIELD_TRACE, [PLACE_SPAN] = FIELD_SPAN, [PLACE_PARENT] = FIELD_PARENT,
					   [PLACE_NAME] = FIELD_FUNCTION, [PLACE_KIND] = FIELD_KIND, [PLACE_STATUS] = FIELD_STATUS,
					   [PLACE_STATE] = -1, [PLACE_WEIGHT] = FIELD_WEIGHT};
	int r;

	for (int i = 0; i < PLACES; i++) {
		const struct column *c = fields[i] >= 0 ? column_of(t, m, (enum span_field)fields[i]) : column_named(t, "TraceState");

		if (!c && (i == PLACE_TRACE || i == PLACE_SPAN || i == PLACE_NAME))
			return str_fail_again(&t->error, -EINVAL, "%s: no column is the %s's (docs/clickhouse.md; a mapping file names others)",
					  t->location, span_field_name((enum span_field)fields[i]));
		t->text[i] = as_text(c);
		if (!t->text[i])
			return -ENOMEM;
	}
	t->cell = column_named(t, "cell") ? strdup("cell") :
		  expression("bitShiftRight(cityHash64({c:Identifier}), 52)", column_of(t, m, FIELD_TRACE)->name);
	r = find_times(t, m);
	r = r ?: find_lists(t);
	r = r ?: find_links(t);
	r = r ?: find_own(t, m);
	if (r == 0)
		t->service = service_text(t, m);
	return r < 0 ? r : t->cell && t->service ? 0 : -ENOMEM;
}

static int take_column(void *data, size_t n, char *const *fields)
{
	struct span_table *t = data;
	struct column c = {};

	if (n != 2 || !fields[0] || !fields[1])
		return 0;
	c = (struct column){strdup(fields[0]), strdup(fields[1])};
	if (c.name && c.type && VEC_PUSH(t->columns, c) == 0)
		return 0;
	FREE_ALL(c.name, c.type);
	return -ENOMEM;
}

/* The table's columns into t->columns; none if there is no such table. */
static int look_at(struct span_table *t, const char *table)
{
	const struct clickhouse_parameter p[] = {{"table", {.text = table}}, {}};
	int r = clickhouse_query(t->clickhouse, "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {table:String}",
				 p, take_column, t);

	if (r < 0 || !t->columns.n)
		return r;
	t->table = strdup(table);
	return t->table ? 0 : -ENOMEM;
}

static int find_table(struct span_table *t, bool whole)
{
	static const char *const names[] = {"spans_all", "otel_traces_all", "spans", "otel_traces"};
	const char *given = clickhouse_table(t->clickhouse);
	int r = given ? look_at(t, given) : 0;

	for (size_t i = whole ? 0 : 2; r == 0 && !given && !t->table && i < ARRAY_SIZE(names); i++)
		r = look_at(t, names[i]);
	if (r < 0 || t->table)
		return r;
	return given ? str_fail_again(&t->error, -ENOENT, "%s: there is no table '%s'", t->location, given) :
		       str_fail_again(&t->error, -ENOENT, "%s: there is no table of spans, neither 'spans' nor 'otel_traces' (name another as "
				  "clickhouse://HOST/DATABASE/TABLE; docs/clickhouse.md has the columns)", t->location);
}

int span_table_open(const char *url, const struct span_mapping *mapping, bool whole, struct span_table **ret, char **ret_error)
{
	struct span_table *t = calloc(1, sizeof(*t));
	int r = t ? clickhouse_open(url, NULL, NULL, &t->clickhouse, ret_error) : -ENOMEM;

	if (r < 0) {
		free(t);
		return r;
	}
	t->location = strdup(url);
	r = t->location ? find_table(t, whole) : -ENOMEM;
	r = r ?: find_columns(t, mapping);
	if (r < 0) {
		str_fail(ret_error, r, "%s", span_table_error(t));
		span_table_close(t);
		return r;
	}
	*ret = t;
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------------------------------ */

static void put_bound(const struct span_table *t, const char *compared, int64_t wall, struct str *sql)
{
	if (wall > 0 && wall < INT64_MAX)
		str_printf(sql, t->begins ? " AND %s %s fromUnixTimestamp64Nano(toInt64(%" PRId64 "))" : " AND %s %s %" PRId64,
			   t->begins ? t->begins : t->start, compared, wall);
}

/* " FROM table WHERE ..." */
static int put_rows(const struct span_table *t, const struct span_clickhouse_selection *s, struct str *sql)
{
	const struct clickhouse_parameter p[] = {{"table", {.text = t->table}}, {}};
	uint32_t width = SPAN_CELLS / (s->pieces ? s->pieces : 1);
	int r = clickhouse_sql(sql, " FROM {table:Table} WHERE 1", p);

	put_bound(t, ">=", s->from, sql);
	put_bound(t, "<", s->to, sql);
	if (s->pieces > 1)
		str_printf(sql, " AND %s >= %u AND %s < %u", t->cell, s->piece * width, t->cell, (s->piece + 1) * width);
	return r < 0 ? r : sql->error;
}

static int query(struct span_table *t, const struct str *sql, clickhouse_row_fn *row, void *data)
{
	free(t->error);
	t->error = NULL;
	return sql->error ? sql->error : clickhouse_query(t->clickhouse, sql->data, NULL, row, data);
}

struct counting {
	uint64_t *counts;
	uint32_t pieces;
};

static int take_count(void *data, size_t n, char *const *fields)
{
	struct counting *c = data;
	uint64_t piece = n == 2 && fields[0] ? strtoull(fields[0], NULL, 10) : UINT64_MAX;

	if (piece < c->pieces && fields[1])
		c->counts[piece] = strtoull(fields[1], NULL, 10);
	return 0;
}

int span_table_count(struct span_table *t, const struct span_clickhouse_selection *range, uint64_t *counts)
{
	struct span_clickhouse_selection all = {range->from, range->to, 0, 1};
	struct counting c = {counts, range->pieces ? range->pieces : 1};
	_cleanup_str_ struct str sql = {};

	memset(counts, 0, c.pieces * sizeof(*counts));
	str_printf(&sql, "SELECT intDiv(%s, %u) AS piece, count()", t->cell, SPAN_CELLS / c.pieces);
	put_rows(t, &all, &sql);
	str_puts(&sql, " GROUP BY piece");
	return query(t, &sql, take_count, &c);
}

static int take_number(void *data, size_t n, char *const *fields)
{
	uint64_t *sum = data;

	*sum += n == 1 && fields[0] ? strtoull(fields[0], NULL, 10) : 0;
	return 0;
}

int span_table_check_shards(struct span_table *t, const struct span_clickhouse_selection *range)
{
	struct span_clickhouse_selection some = {range->from, range->to, 0, 64};
	_cleanup_str_ struct str sql = {};
	uint64_t together = 0, apart = 0;
	int r;

	str_printf(&sql, "SELECT uniqExact(%s)", t->text[PLACE_TRACE]);
	put_rows(t, &some, &sql);
	r = query(t, &sql, take_number, &together);
	str_puts(&sql, " SETTINGS distributed_group_by_no_merge = 1");
	r = r ?: query(t, &sql, take_number, &apart);
	if (r == 0 && together != apart)
		return str_fail_again(&t->error, -EXDEV, "%s: traces lie on several shards (%" PRIu64 " of %" PRIu64 " looked at): '%s' must be "
				  "sharded by trace, as by cityHash64(trace_id)", t->location, apart - together, together, t->table);
	return r;
}

struct list {
	const uint8_t *at; /* its texts */
	uint64_t n;
};

struct row {
	struct {
		const char *text;
		size_t n;
	} text[PLACES], own[2][COLUMNS_MAX];
	int64_t start, duration;
	struct list keys[2], values[2], links;
	const uint8_t *begin[2], *end[2]; /* bytes of the resource's attributes, of the span's */
	const uint8_t *links_end;
};

struct reading {
	struct span_table *t;
	struct span_reader *r;
	uint64_t rows;
};

static void read_list(struct reader *in, struct list *l)
{
	size_t n;

	l->n = reader_varint(in);
	l->at = in->at;
	for (uint64_t i = 0; i < l->n && !in->bad; i++)
		str_read_blob(in, &n);
}

static void read_row(const struct span_table *t, struct reader *in, struct row *row)
{
	for (int i = 0; i < PLACES; i++)
		row->text[i].text = str_read_blob(in, &row->text[i].n);
	row->start = clickhouse_read_int64(in);
	row->duration = clickhouse_read_int64(in);
	for (int i = 0; i < 2; i++) {
		row->begin[i] = in->at;
		read_list(in, &row->keys[i]);
		read_list(in, &row->values[i]);
		for (size_t k = 0; k < t->n_own[i]; k++)
			row->own[i][k].text = str_read_blob(in, &row->own[i][k].n);
		row->end[i] = in->at;
	}
	read_list(in, &row->links);
	row->links_end = in->at;
}

static void put_attributes(const struct span_table *t, struct span_reader *r, const struct row *row, int which, bool all)
{
	struct reader keys = {row->keys[which].at, row->end[which], false}, values = {row->values[which].at, row->end[which], false};
	uint64_t n = row->keys[which].n < row->values[which].n ? row->keys[which].n : row->values[which].n;

	for (size_t k = 0; k < t->n_own[which]; k++)
		span_reader_attribute(r, t->own[which][k].name, strlen(t->own[which][k].name), row->own[which][k].text, row->own[which][k].n, all);
	for (uint64_t i = 0; i < n && i < PAIRS_MAX; i++) {
		size_t key_n, value_n;
		const char *key = str_read_blob(&keys, &key_n), *value = str_read_blob(&values, &value_n);

		span_reader_attribute(r, key, key_n, value, value_n, all);
	}
}

static void put_links(struct span_reader *r, const struct row *row, struct span *span)
{
	struct reader ids = {row->links.at, row->links_end, false};
	struct span_link link = {.span = span->id};

	for (uint64_t i = 0; i < row->links.n; i++) {
		uint64_t high, low;
		size_t n;
		const char *id = str_read_blob(&ids, &n);

		span_trace_id_of_text(r->sink.names, id, n, &high, &low);
		span_reader_link(span, high, low, &link);
	}
	span_reader_end_links(r, span, &link);
}

static void put_resource(const struct span_table *t, struct span_reader *r, const struct row *row, struct span *span)
{
	size_t n = (size_t)(row->end[0] - row->begin[0]);
	const struct cached_resource *cached = span_reader_cached(r, row->begin[0], n);

	if (cached) {
		span->resource = cached->set;
		span->service = cached->service;
		return;
	}
	span_reader_begin(r);
	put_attributes(t, r, row, 0, true);
	span->resource = span_reader_resource(r, &span->service);
	span_reader_remember(r, row->begin[0], n, span->resource, span->service);
}

static void complain(struct reading *g, enum span_fault fault, const char *what)
{
	span_fault(g->r->sink.faults, fault, "%s: row %" PRIu64 " of a piece of '%s': %s", g->t->location, g->rows, g->t->table, what);
}

static int put_span(struct reading *g, const struct row *row)
{
	struct span span = {.start = row->start};
	struct span_reader *r = g->r;

	span_trace_id_of_text(r->sink.names, row->text[PLACE_TRACE].text, row->text[PLACE_TRACE].n, &span.trace_high, &span.trace_low);
	span.id = span_id_of_text(row->text[PLACE_SPAN].text, row->text[PLACE_SPAN].n);
	if (!span.id || (!span.trace_low && !span.trace_high))
		return complain(g, SPAN_FAULT_ID, "no trace or span id"), 0;
	if (row->start < 0 || row->duration < 0 || __builtin_add_overflow(row->start, row->duration, &span.end))
		return complain(g, SPAN_FAULT_TIME, "its times are not a valid span of time"), 0;
	span.parent = span_id_of_text(row->text[PLACE_PARENT].text, row->text[PLACE_PARENT].n);
	span.parent = span.parent == span.id ? 0 : span.parent;
	span.operation = span_reader_name(r, row->text[PLACE_NAME].text, row->text[PLACE_NAME].n);
	span.kind = (uint8_t)span_kind_of_text(row->text[PLACE_KIND].text, row->text[PLACE_KIND].n);
	span.flags = span_status_is_error(row->text[PLACE_STATUS].text, row->text[PLACE_STATUS].n) ? SPAN_ERROR : 0;
	put_resource(g->t, r, row, &span);
	put_attributes(g->t, r, row, 1, span_reader_begin_span(r, &span));
	span_reader_end_span(r, &span);
	put_links(r, row, &span);
	if (!r->weight)
		r->weight = span_weight_of_text(row->text[PLACE_WEIGHT].text, row->text[PLACE_WEIGHT].n);
	span.weight = span_reader_weight(r, row->text[PLACE_STATE].text, row->text[PLACE_STATE].n);
	return span_reader_put(r, &span);
}

static int take_span(void *data, struct reader *in)
{
	struct reading *g = data;
	struct row row;

	read_row(g->t, in, &row);
	if (in->bad)
		return 0;
	g->rows++;
	return put_span(g, &row);
}

int span_table_read(struct span_table *t, struct span_reader *r, const struct span_clickhouse_selection *rows, uint64_t *ret_rows)
{
	struct reading g = {.t = t, .r = r};
	_cleanup_str_ struct str sql = {};
	int result;

	str_puts(&sql, "SELECT ");
	for (int i = 0; i < PLACES; i++)
		str_printf(&sql, "%s, ", t->text[i]);
	str_printf(&sql, "%s, %s", t->start, t->duration);
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 2; k++)
			str_printf(&sql, ", %s", t->lists[i][k] ? t->lists[i][k] : "emptyArrayString()");
		for (size_t k = 0; k < t->n_own[i]; k++)
			str_printf(&sql, ", %s", t->own[i][k].text);
	}
	str_printf(&sql, ", %s", t->links);
	result = put_rows(t, rows, &sql);
	free(t->error);
	t->error = NULL;
	result = result ?: clickhouse_query_binary(t->clickhouse, sql.data, NULL, take_span, &g);
	*ret_rows = g.rows;
	return result;
}
