/* OpenTelemetry's otel_traces, as a newer server answers, by fixture. (The flat table, and two real servers: tests/spans-work.) */
#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/net/http-server.h"
#include "spans/formats/span-clickhouse.h"

#define T 1795183200000000000ll

static const char *const columns[][2] = {
	{"Timestamp", "DateTime64(9)"}, {"TraceId", "String"}, {"SpanId", "String"}, {"ParentSpanId", "String"},
	{"TraceState", "String"}, {"SpanName", "LowCardinality(String)"}, {"SpanKind", "LowCardinality(String)"},
	{"ServiceName", "LowCardinality(String)"}, {"ResourceAttributes", "Map(LowCardinality(String), String)"},
	{"ScopeName", "String"}, {"SpanAttributes", "Map(LowCardinality(String), String)"}, {"Duration", "UInt64"},
	{"StatusCode", "LowCardinality(String)"}, {"Events.Name", "Array(LowCardinality(String))"}, {"Links.TraceId", "Array(String)"},
};

struct made {
	const char *trace, *span, *parent, *name, *kind, *status, *state, *service;
	int64_t start, duration;
	const char *resource[4], *attributes[4]; /* key, value, ... */
	const char *link;
};

static const struct made rows[] = {
	{"0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "", "GET /cart", "Server", "Unset", "vendor=1,ot=th:8", "shop", T, 5000000,
	 {"host.name", "web-1", "service.version", "1.4"}, {"user.tier", "gold"}, "0af7651916cd43dd8448eb211c80319d"},
	{"0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203332", "b7ad6b7169203331", "SELECT", "SPAN_KIND_CLIENT", "Error", "", "shop",
	 T + 1000000, 2000000, {"host.name", "web-1", "service.version", "1.4"}, {"db.system", "mysql", "user.tier", "unseen"}, NULL},
	{"0af7651916cd43dd8448eb211c80319d", "b7ad6b7169203333", "", "tick", "Internal", "STATUS_CODE_ERROR", "vendor=1", "cron", T + 9, 7, {}, {}, NULL},
	{"", "b7ad6b7169203334", "", "no trace", "", "", "", "", T, 1, {}, {}, NULL},
	{"0af7651916cd43dd8448eb211c80319d", "b7ad6b7169203335", "", "ends before it begins", "", "", "", "", T, -1, {}, {}, NULL},
};

static int mutations;
static char seen[8192]; /* the last question about rows */

static void put_text(struct str *out, const char *text)
{
	str_put_blob(out, text, strlen(text));
}

static void put_list(struct str *out, const char *const pairs[4], int from)
{
	int n = !pairs[0] ? 0 : !pairs[2] ? 1 : 2;

	str_put_varint(out, (uint64_t)n);
	for (int i = 0; i < n; i++)
		put_text(out, pairs[2 * i + from]);
}

static void put_row(struct str *out, const struct made *m)
{
	const char *const texts[] = {m->trace, m->span, m->parent, m->name, m->kind, m->status, m->state, ""};

	for (size_t i = 0; i < 8; i++)
		put_text(out, texts[i]);
	str_append(out, &m->start, 8);
	str_append(out, &m->duration, 8);
	put_list(out, m->resource, 0);
	put_list(out, m->resource, 1);
	put_text(out, m->service);
	put_list(out, m->attributes, 0);
	put_list(out, m->attributes, 1);
	str_put_varint(out, m->link != NULL);
	if (m->link)
		put_text(out, m->link);
}

static void answer(struct http_exchange *e)
{
	const char *sql = e->body.data;

	e->type = "text/plain";
	if (strstr(sql, "system.columns") && strstr(sql, "'otel_traces'")) {
		for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
			str_printf(&e->reply, "%s\t%s\n", columns[i][0], columns[i][1]);
	} else if (strstr(sql, "system.columns")) {
		str_puts(&e->reply, "");
	} else if (strstr(sql, "FROM `otel_traces`")) {
		snprintf(seen, sizeof(seen), "%s", sql);
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			put_row(&e->reply, &rows[i]);
	} else {
		http_fail(e, 404, "Code: 60, e.displayText() = DB::Exception: what? %s, e.what() = DB::Exception", sql);
	}
	for (int i = 0; i < mutations && e->reply.len; i++)
		e->reply.data[random() % (long)e->reply.len] = (char)random();
}

struct collected {
	struct span spans[8];
	size_t n;
	struct names *names;
	struct span_faults faults;
	struct span_links links;
	int result;
};

static int collect(void *state, const struct span *span)
{
	struct collected *c = state;

	if (c->n < 8)
		c->spans[c->n++] = *span;
	return 0;
}

static struct collected read_table(struct span_clickhouse_selection selection)
{
	static const struct http_route routes[] = {{"POST", "/", answer, 1 << 16, SCOPE_ALL}, {}};
	char token_file[] = "/tmp/whyslow-token-XXXXXX", url[64], *error = NULL;
	struct http_server_options o = {.token_file = token_file, .routes = routes};
	struct collected c = {.names = names_new()};
	struct http_server *server;
	struct span_mapping mapping;
	struct span_reader reader;
	struct span_table *t = NULL;
	int fd = mkstemp(token_file);
	uint64_t n;

	assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef\n", 33), 33);
	close(fd);
	if (http_server_start(&o, &server, &error) < 0)
		fail_msg("%s", error);
	setenv("WHYSLOW_CLICKHOUSE_CREDENTIALS", token_file, 1);
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/otel", http_server_port(server));
	assert_int_equal(span_mapping_init(&mapping), 0);
	c.result = span_table_open(url, &mapping, true, &t, &error);
	if (c.result == 0) {
		struct span_sink sink = {.names = c.names, .mapping = &mapping, .state = &c, .put = collect, .faults = &c.faults, .links = &c.links};

		assert_int_equal(span_reader_init(&reader, &sink), 0);
		c.result = span_table_read(t, &reader, &selection, &n);
		span_reader_free(&reader);
	} else {
		assert_non_null(error);
	}
	free(error);
	span_table_close(t);
	span_mapping_free(&mapping);
	http_server_stop(server);
	unsetenv("WHYSLOW_CLICKHOUSE_CREDENTIALS");
	unlink(token_file);
	return c;
}

static const char *value(const struct collected *c, uint32_t set, const char *key)
{
	return names_get(c->names,
			 attribute_set_value(names_get_set(c->names, set), names_find(c->names, key)));
}

static void the_exporters_table_is_spans(void **state)
{
	struct collected c = read_table((struct span_clickhouse_selection){0, INT64_MAX, 0, 1});

	assert_int_equal(c.result, 0);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.spans[0].trace_high, 0x0af7651916cd43dd);
	assert_int_equal(c.spans[0].id, 0xb7ad6b7169203331);
	assert_int_equal(c.spans[0].start, T);
	assert_int_equal(c.spans[0].end, T + 5000000);
	assert_int_equal(c.spans[0].kind, SPAN_SERVER);
	assert_int_equal(c.spans[0].weight, 2 * SPAN_WEIGHT_ONE);
	assert_string_equal(names_get(c.names, c.spans[0].service), "shop");
	assert_string_equal(names_get(c.names, c.spans[0].operation), "GET /cart");
	assert_string_equal(value(&c, c.spans[0].resource, "service.version"), "1.4");
	assert_string_equal(value(&c, c.spans[0].attributes, "user.tier"), "gold");
	assert_int_equal(span_links_of(&c.links, &c.spans[0])->low, 0x8448eb211c80319d);
	assert_null(span_links_of(&c.links, &c.spans[1]));
	assert_int_equal(c.spans[1].parent, c.spans[0].id);
	assert_int_equal(c.spans[1].kind, SPAN_CLIENT);
	assert_int_equal(c.spans[1].flags, SPAN_ERROR);
	assert_int_equal(c.spans[1].resource, c.spans[0].resource);
	assert_string_equal(value(&c, c.spans[1].attributes, "db.system"), "mysql");
	assert_string_equal(value(&c, c.spans[1].attributes, "user.tier"), ""); /* only roots keep all */
	assert_int_equal(c.spans[2].weight, SPAN_WEIGHT_ONE);
	assert_int_equal(c.spans[2].flags, SPAN_ERROR);
	assert_int_equal(c.faults.n[SPAN_FAULT_ID], 1);
	assert_int_equal(c.faults.n[SPAN_FAULT_TIME], 1);
	assert_null(strstr(seen, "Scope"));
	assert_null(strstr(seen, "Events"));
	span_links_free(&c.links);
	names_free(c.names);
}

static void a_piece_asks_for_its_time_and_cells_only(void **state)
{
	struct collected c = read_table((struct span_clickhouse_selection){T, T + 10, 3, 8});

	assert_int_equal(c.result, 0);
	assert_non_null(strstr(seen, "`Timestamp` >= fromUnixTimestamp64Nano(toInt64(1795183200000000000))"));
	assert_non_null(strstr(seen, "`Timestamp` < fromUnixTimestamp64Nano(toInt64(1795183200000000010))"));
	assert_non_null(strstr(seen, "bitShiftRight(cityHash64(`TraceId`), 52) >= 1536 AND"));
	assert_non_null(strstr(seen, "bitShiftRight(cityHash64(`TraceId`), 52) < 2048"));
	span_links_free(&c.links);
	names_free(c.names);
}

static void damaged_answers_do_no_harm(void **state)
{
	srandom(5);
	for (int i = 0; i < 150; i++) {
		struct collected c;

		mutations = 1 + i % 4;
		c = read_table((struct span_clickhouse_selection){0, INT64_MAX, 0, 1});
		assert_true(c.result <= 0);
		span_links_free(&c.links);
	names_free(c.names);
	}
	mutations = 0;
}

RUN_TESTS(cmocka_unit_test(the_exporters_table_is_spans), cmocka_unit_test(a_piece_asks_for_its_time_and_cells_only),
	  cmocka_unit_test(damaged_answers_do_no_harm))
