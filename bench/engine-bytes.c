/* What crosses the wire when ClickHouse computes a fleet's analyses over two shards: every connection, of the client and
 * between the shards, goes through a counting proxy. Prints "FIGURE VALUE" lines for bench/engine. */
#include "lib/net/test-clickhouse.h"

#include <math.h>

#include "fleet/store/fleet-engine.h"
#include "lib/net/test-proxy.h"

#define SERVERS	 100
#define COUNTERS 100
#define ROWS	 720 /* at first; then as many again */
#define T	 1795183200000000000ll
#define D	 60000000000ll

static struct shards shards;
static struct proxy proxies[3]; /* of each shard, and of the client's connection */
static atomic_uint_fast64_t bytes;

static void run(struct clickhouse *c, const char *sql)
{
	if (clickhouse_query(c, sql, NULL, NULL, NULL) < 0)
		fail_msg("%s", clickhouse_error(c));
}

/* A daily wave, a server's own level, and noise that does not compress. */
static void add_rows(int first)
{
	struct clickhouse *c = shard_client(&shards, 0, "");
	char sql[1200];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO fleet_values_all SELECT concat('server-', toString(1000 + number %% %d), '.example.org'), "
		 "concat('subsystem.counter_', toString(1000 + intDiv(number, %d) %% %d)), %lld + (%d + intDiv(number, %d)) * %lld, "
		 "toFloat32(100 + 20 * sin((%d + intDiv(number, %d)) / 200.) + number %% 7 + intHash32(number + %d) / 429496729.6) "
		 "FROM (SELECT number FROM system.numbers LIMIT %d)",
		 SERVERS, SERVERS, COUNTERS, T, first, SERVERS * COUNTERS, D, first, SERVERS * COUNTERS, first, SERVERS * COUNTERS * ROWS);
	run(c, sql);
	for (int i = 0; i < 600; i++) {
		int64_t want = (int64_t)SERVERS * COUNTERS * (first + ROWS);
		char check[120];

		snprintf(check, sizeof(check), "SELECT intDiv(1, toUInt8(count() = %lld)) FROM fleet_values_all", (long long)want);
		if (clickhouse_query(c, check, NULL, NULL, NULL) == 0)
			break;
		usleep(100000);
	}
	clickhouse_close(c);
}

static void start(void)
{
	struct fleet nothing = {};
	char url[100], *error = NULL;

	shards_prepare(&shards, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(proxy_start(&proxies[i], shards.tcp[i], &bytes), 0);
		shards.known_as[i] = proxies[i].port;
	}
	if (shards_start(&shards, 2) != 0) {
		shards_stop(&shards);
		exit(77);
	}
	assert_int_equal(proxy_start(&proxies[2], shards.http[0], &bytes), 0);
	for (int i = 1; i >= 0; i--) {
		snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/default%s", shards.http[i], i ? "" : "?cluster=fleet");
		if (fleet_engine_save(url, NULL, NULL, &nothing, &error) < 0)
			fail_msg("%s", error);
	}
}

static uint64_t ask(struct fleet_engine *e, const char *analysis, int rows)
{
	struct fleet_question q = {.fleet = fleet_engine_fleet(e), .window = {INT64_MIN, INT64_MAX}, .usual = {T, T + rows / 2 * D},
				   .quantile = 0.5, .threshold = NAN, .server = -1, .counter = -1};
	struct fleet_findings found = {};

	if (strcmp(analysis, "between") == 0)
		q.window = (struct fleet_span){T + rows / 2 * D, T + rows * D};
	if (strcmp(analysis, "correlation") == 0) {
		q.server = q.counter = 0;
		q.threshold = 0.999;
	}
	atomic_store(&bytes, 0);
	if (fleet_engine_run(e, NULL, analysis, &q, &found) < 0)
		fail_msg("%s", fleet_engine_error(e));
	fleet_findings_free(&found);
	return atomic_load(&bytes);
}

int main(void)
{
	static const char *const analyses[] = {"within", "between", "correlation"};
	uint64_t used[3][2];

	start();
	for (int step = 0; step < 2; step++) {
		struct fleet_engine *e;
		char url[100], *error = NULL;

		add_rows(step * ROWS);
		snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/default", proxies[2].port);
		if (fleet_engine_open(url, NULL, NULL, &e, &error) < 0)
			fail_msg("%s", error);
		for (int i = 0; i < 3; i++)
			used[i][step] = ask(e, analyses[i], (step + 1) * ROWS);
		fleet_engine_close(e);
	}
	for (int i = 0; i < 3; i++) {
		double raw = 4. * SERVERS * COUNTERS * 2 * ROWS;

		printf("engine.wire_percent_%s %.3f\n", analyses[i], 100 * (double)used[i][1] / raw);
		printf("engine.wire_growth_percent_%s %.2f\n", analyses[i], 100 * ((double)used[i][1] / (double)used[i][0] - 1));
	}
	shards_stop(&shards);
	return 0;
}
