#include "fleet/formats/test-intake.h"

#include "fleet/store/fleet-save.h"
#include "lib/net/http-server.h"
#include "lib/net/test-clickhouse.h"

extern const struct fleet_source fleet_source_clickhouse;

#define T 1795183200ll

/* --- Debian's server: the flat schema of docs/clickhouse.md --- */

static const char *const flat[] = {
	"CREATE DATABASE metrics",
	"CREATE TABLE metrics.fleet_values (server String, counter String, time Int64, value Float64) ENGINE = MergeTree() "
	"PARTITION BY toYYYYMM(toDate(intDiv(time, 1000000000))) ORDER BY (counter, server, time)",
	"CREATE TABLE metrics.fleet_counters (counter String, kind String, unit String, help String) ENGINE = MergeTree() "
	"PARTITION BY tuple() ORDER BY counter",
	"INSERT INTO metrics.fleet_values SELECT concat('web-', toString(intDiv(number, 600))), 'sent', "
	"(1795183200 + number % 600) * 1000000000, (number % 600) * 50. FROM (SELECT number FROM system.numbers LIMIT 1800)",
	"INSERT INTO metrics.fleet_values SELECT 'web-1', 'odd name {x=\"y\"}', 1795183200000000000 + number, 0.5 "
	"FROM (SELECT number FROM system.numbers LIMIT 3)",
	"INSERT INTO metrics.fleet_counters VALUES ('sent', 'counter', 'bytes', 'bytes sent')",
	NULL,
};

#define SAVED	    12
#define SAVED_ROWS 300

static double saved_value(int server, int counter, int row)
{
	return counter == 0 ? row / 7. - server : counter == 1 && server >= 5 ? NAN : (row % 3 ? -1e15 : 1e-15) * (row + 1);
}

static void make_fleet(struct fleet **ret)
{
	struct intake *in = intake_new();
	char name[64];

	for (int s = 0; s < SAVED; s++)
		for (int c = 0; c < 3; c++) {
			snprintf(name, sizeof(name), "web-%02d", s);
			assert_int_equal(intake_server(in, name), s);
			snprintf(name, sizeof(name), "it's {x=\"%d\"} \\ %%s", c);
			assert_int_equal(intake_counter(in, name, &(struct counter_info){.kind = FLEET_GAUGE, .unit = "things"}), c);
			for (int k = 0; k < SAVED_ROWS; k++)
				assert_int_equal(intake_put(in, s, c, (T + 10 * k) * NS_PER_SEC, saved_value(s, c, k)), 0);
		}
	assert_int_equal(intake_finish(in, ret), 0);
	intake_free(in);
}

static void save(const struct fleet *f, const char *url)
{
	char *error = NULL;

	if (fleet_save(url, NULL, NULL, f, &error) < 0)
		fail_msg("%s", error);
}

static void check_is_saved(const char *url, size_t servers, const struct fleet *saved)
{
	struct fleet_input in = {.location = url, .from = INT64_MIN, .to = INT64_MAX};
	struct loaded l = load_input(&fleet_source_clickhouse, &in);

	if (l.result < 0)
		fail_msg("%s", l.error);
	assert_int_equal(l.fleet->servers.n, servers);
	assert_int_equal(l.fleet->counters.n, 3);
	for (int c = 0; c < 3; c++) {
		int k = fleet_find_counter(l.fleet, saved->counters.v[c].name);

		assert_true(k >= 0);
		assert_string_equal(l.fleet->counters.v[k].unit, "things");
		for (size_t i = 0; i < servers; i++) {
			const struct fleet_server *s = &l.fleet->servers.v[i];
			int original = fleet_find_server(saved, s->name);

			assert_int_equal(s->n, SAVED_ROWS);
			for (int row = 0; row < SAVED_ROWS; row++) {
				float expected = (float)saved_value(original, c, row);

				assert_true(isnan(expected) ? !s->column[k] || isnan(s->column[k][row]) : s->column[k][row] == expected);
			}
		}
	}
	loaded_free(&l);
}

/* All rows of a server lie on one of the shards, and each has a part. */
static void what_is_saved_on_shards_is_read_again(void **state)
{
	struct shards shards = {};
	struct fleet nothing = {}, *saved = NULL;
	int r = shards_start(&shards, 2);
	size_t servers[2] = {};
	char url[80];

	if (r == 77) {
		shards_stop(&shards);
		skip();
	}
	assert_int_equal(r, 0);
	make_fleet(&saved);
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/default", shards.http[1]);
	save(&nothing, url);
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/default?cluster=fleet", shards.http[0]);
	save(saved, url);
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/default/fleet_values_all", shards.http[0]);
	check_is_saved(url, SAVED, saved);
	for (unsigned i = 0; i < 2; i++) {
		struct fleet_input in = {.location = url, .from = INT64_MIN, .to = INT64_MAX};
		struct loaded l;

		snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/default/fleet_values", shards.http[i]);
		l = load_input(&fleet_source_clickhouse, &in);
		assert_int_equal(l.result, 0);
		servers[i] = l.fleet->servers.n;
		assert_in_range(servers[i], 1, SAVED - 1);
		loaded_free(&l);
	}
	assert_int_equal(servers[0] + servers[1], SAVED);
	fleet_free(saved);
	free(saved);
	shards_stop(&shards);
}

static void a_flat_table_is_a_fleet(void **state)
{
	struct shards shards = {};
	struct clickhouse *c;
	char url[80];
	struct fleet_input in = {.location = url, .from = (T + 100) * NS_PER_SEC, .to = INT64_MAX};
	struct loaded l;
	int r = shards_start(&shards, 1);

	if (r == 77) {
		shards_stop(&shards);
		skip();
	}
	assert_int_equal(r, 0);
	c = shard_client(&shards, 0, "");
	for (size_t i = 0; flat[i]; i++)
		if (clickhouse_query(c, flat[i], NULL, NULL, NULL) < 0)
			fail_msg("%s", clickhouse_error(c));
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/metrics", shards.http[0]);
	l = load_input(&fleet_source_clickhouse, &in);
	if (l.result < 0)
		fail_msg("%s", l.error);
	assert_int_equal(l.fleet->servers.n, 3);
	assert_int_equal(l.fleet->servers.v[0].n, 500);
	assert_int_equal(counter_named(&l, "sent")->kind, FLEET_COUNTER);
	assert_string_equal(counter_named(&l, "sent")->help, "bytes sent");
	check_at(&l, "web-2", "sent", T + 300, 50);
	loaded_free(&l);
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/default", shards.http[0]);
	l = load_input(&fleet_source_clickhouse, &in);
	assert_int_equal(l.result, -ENOENT);
	assert_non_null(strstr(l.error, "there is no table of counters"));
	loaded_free(&l);
	clickhouse_close(c);
	shards_stop(&shards);
}

/* --- what a newer server with OpenTelemetry's tables answers, by fixture --- */

struct series {
	const char *server, *metric, *attributes, *unit, *help;
	int64_t monotonic, temporality, times[2];
	double values[2];
};

static const struct series sums[] = {
	{"web-1", "http.requests", "method=\"GET\"", "{request}", "served", 1, 2, {T * NS_PER_SEC, (T + 10) * NS_PER_SEC}, {100, 300}},
	{"web-1", "queue.length", "", "", "", 0, 2, {T * NS_PER_SEC, (T + 10) * NS_PER_SEC}, {3, 4}},
	{"web-1", "deltas", "", "", "", 1, 1, {T * NS_PER_SEC, (T + 10) * NS_PER_SEC}, {7, 8}},
};
static const struct series gauges[] = {
	{"web-2", "memory.used", "", "By", "", 0, 0, {T * NS_PER_SEC, (T + 10) * NS_PER_SEC}, {1e9, 2e9}},
};

static int mutations;

static void put(struct str *out, const struct series *s)
{
	const char *const texts[] = {s->server, s->metric, s->attributes, s->unit, s->help};

	for (size_t i = 0; i < 5; i++)
		str_put_blob(out, texts[i], strlen(texts[i]));
	str_append(out, &s->monotonic, 16);
	str_put_varint(out, 2);
	str_append(out, s->times, 16);
	str_put_varint(out, 2);
	str_append(out, s->values, 16);
}

static void answer(struct http_exchange *e)
{
	const char *sql = e->body.data;

	e->type = "text/plain";
	if (strstr(sql, "system.tables")) {
		str_puts(&e->reply, "otel_metrics_gauge\notel_metrics_histogram\notel_metrics_sum\n");
	} else if (strstr(sql, "FROM `otel_metrics_gauge`")) {
		assert_non_null(strstr(sql, "ResourceAttributes['host.name']"));
		put(&e->reply, &gauges[0]);
	} else if (strstr(sql, "FROM `otel_metrics_sum`")) {
		assert_non_null(strstr(sql, "`IsMonotonic`"));
		for (size_t i = 0; i < 3; i++)
			put(&e->reply, &sums[i]);
	} else {
		http_fail(e, 404, "Code: 60, e.displayText() = DB::Exception: what? %s, e.what() = DB::Exception", sql);
	}
	for (int i = 0; i < mutations; i++)
		e->reply.data[random() % (long)e->reply.len] = (char)random();
}

static const struct http_route routes[] = {{"POST", "/", answer, 1 << 16, SCOPE_ALL}, {}};

static struct loaded load_otel(struct http_server **server)
{
	char token_file[] = "/tmp/whyslow-token-XXXXXX", url[64], *error = NULL;
	struct http_server_options o = {.token_file = token_file, .routes = routes};
	struct fleet_input in = {.location = url, .from = INT64_MIN, .to = INT64_MAX, .token_file = token_file};
	int fd = mkstemp(token_file);
	struct loaded l;

	assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef\n", 33), 33);
	close(fd);
	if (http_server_start(&o, server, &error) < 0)
		fail_msg("%s", error);
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/otel", http_server_port(*server));
	l = load_input(&fleet_source_clickhouse, &in);
	http_server_stop(*server);
	unlink(token_file);
	return l;
}

static void opentelemetrys_tables_are_a_fleet(void **state)
{
	struct http_server *server;
	struct loaded l = load_otel(&server);

	if (l.result < 0)
		fail_msg("%s", l.error);
	check_at(&l, "web-1", "http.requests{method=\"GET\"}", T + 10, 20);
	assert_int_equal(counter_named(&l, "http.requests{method=\"GET\"}")->kind, FLEET_COUNTER);
	check_at(&l, "web-1", "queue.length", T + 10, 4);
	check_at(&l, "web-1", "deltas", T + 10, 8);
	check_at(&l, "web-2", "memory.used", T, 1e9);
	assert_string_equal(counter_named(&l, "memory.used")->unit, "By");
	assert_int_equal(l.fleet->remarks.n, 1);
	loaded_free(&l);
}

static void damaged_answers_do_no_harm(void **state)
{
	srandom(5);
	for (int i = 0; i < 150; i++) {
		struct http_server *server;
		struct loaded l;

		mutations = 1 + i % 4;
		l = load_otel(&server);
		assert_true(l.result == 0 || l.error);
		loaded_free(&l);
	}
	mutations = 0;
}

RUN_TESTS(cmocka_unit_test(what_is_saved_on_shards_is_read_again), cmocka_unit_test(a_flat_table_is_a_fleet), cmocka_unit_test(opentelemetrys_tables_are_a_fleet),
	  cmocka_unit_test(damaged_answers_do_no_harm))
