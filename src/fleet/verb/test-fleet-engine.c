/* The same questions to ClickHouse (two shards) and to the local analyses: the same answers. */
#include "lib/net/test-clickhouse.h"

#include <math.h>

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/model/intake.h"
#include "fleet/store/fleet-engine.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

#define SERVERS	 12
#define COUNTERS 10
#define ROWS	 300
#define T	 (1795183200ll * NS_PER_SEC)
#define D	 (10 * NS_PER_SEC)

static struct shards shards;
static int missing;
static struct fleet *local;
static struct fleet_engine *engine;

/* Ties, negative numbers, constants, spikes, gaps, wholly missing counters, unusual names. */
static double made_up(int server, int counter, int row)
{
	double noise = (double)(random() % 10000) / 10000;

	switch (counter) {
	case 0:
		return 100 + 20 * sin(row / 20.) + noise;
	case 1:
		return server == 3 && row > 200 ? 500 : 90 + noise;
	case 2:
		return -50 * sin((row - 4) / 20.) - noise + server;
	case 3:
		return floor(noise * 4);
	case 4:
		return 7;
	case 5:
		return exp(20 * (noise - 0.5));
	case 6:
		return row % 3 ? noise : NAN;
	case 7:
		return server < 5 ? noise * 1e9 : NAN;
	case 8:
		return row == 17 ? -1e15 : 1e-15 * noise;
	default:
		return row % 2 ? -0. : 0.;
	}
}

static void make_fleet(void)
{
	struct intake *in = intake_new();
	char name[64];

	srandom(11);
	for (int s = 0; s < SERVERS; s++)
		for (int c = 0; c < COUNTERS; c++) {
			snprintf(name, sizeof(name), "web-%02d", s);
			assert_int_equal(intake_server(in, name), s);
			snprintf(name, sizeof(name), "it's {x=\"%d\"} \\ %%s", c);
			assert_int_equal(intake_counter(in, name, &(struct counter_info){.kind = FLEET_GAUGE, .unit = "things"}), c);
			for (int k = 0; k < ROWS - (c == 3 && s == 2); k++)
				assert_int_equal(intake_put(in, s, c, T + k * D, made_up(s, c, k)), 0);
		}
	assert_int_equal(intake_finish(in, &local), 0);
	intake_free(in);
}

static char *url_of(unsigned shard, const char *rest)
{
	static char url[100];

	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/%s", shards.http[shard], rest);
	return url;
}

static void make_tables(unsigned shard)
{
	char *error = NULL;
	struct fleet nothing = {};

	if (fleet_engine_save(url_of(shard, "default"), NULL, NULL, &nothing, &error) < 0)
		fail_msg("%s", error);
}

static int set_up(void **state)
{
	char *error = NULL;

	(void)state;
	missing = shards_start(&shards, 2);
	if (missing)
		return missing == 77 ? 0 : -1;
	make_fleet();
	make_tables(1);
	if (fleet_engine_save(url_of(0, "default?cluster=fleet"), NULL, NULL, local, &error) < 0 ||
	    fleet_engine_open(url_of(0, "default"), NULL, NULL, &engine, &error) < 0) {
		print_message("%s\n", error);
		return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fleet_engine_close(engine);
	if (local)
		fleet_free(local);
	free(local);
	shards_stop(&shards);
	return 0;
}

static void needs_servers(void)
{
	if (missing)
		skip();
}

static bool near(double a, double b, double error)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= error * fmax(fabs(a), fabs(b)) + 1e-300;
}

static bool same(double a, double b)
{
	return near(a, b, 1e-9);
}

/* A mean may lie near 0 between larger values. */
static bool same_statistic(const struct fleet_question *q, double a, double b, double spread)
{
	return q->statistic == FLEET_AVERAGE ? fabs(a - b) <= 1e-9 * fmax(fabs(a), spread) : same(a, b);
}

/* The engine's numbers for servers and counters are its own: findings are matched by names and times. */
static const struct fleet_finding *find_same(const struct fleet_findings *in, const struct fleet_finding *x)
{
	const struct fleet *there = fleet_engine_fleet(engine);
	int c = fleet_find_counter(there, local->counters.v[x->counter].name);
	int s = x->server < 0 ? -1 : fleet_find_server(there, local->servers.v[x->server].name);

	for (size_t i = 0; i < in->list.n; i++)
		if (in->list.v[i].counter == c && in->list.v[i].server == s && in->list.v[i].time == x->time)
			return &in->list.v[i];
	return NULL;
}

static struct fleet_question for_engine(const struct fleet_question *q)
{
	struct fleet_question there = *q;

	there.fleet = fleet_engine_fleet(engine);
	if (q->counter >= 0)
		there.counter = fleet_find_counter(there.fleet, local->counters.v[q->counter].name);
	if (q->server >= 0)
		there.server = fleet_find_server(there.fleet, local->servers.v[q->server].name);
	return there;
}

/* Both engines' findings, one by one; how many there were. */
static size_t check_same(const char *analysis, const struct fleet_question *q)
{
	struct fleet_findings here = {}, there = {};
	struct fleet_question question = for_engine(q);
	size_t n;

	assert_int_equal(fleet_analysis_find(analysis)->run(q, &here), 0);
	if (fleet_engine_run(engine, NULL, analysis, &question, &there) < 0)
		fail_msg("%s", fleet_engine_error(engine));
	assert_int_equal(here.list.n, there.list.n);
	for (size_t i = 0; i < here.list.n; i++) {
		const struct fleet_finding *x = &here.list.v[i], *y = find_same(&there, x);

		if (!y)
			fail_msg("%s: no finding for counter %d of server %d", analysis, x->counter, x->server);
		else if (fabs(x->score - y->score) > 1e-9 * fmax(x->score, 1) || !same_statistic(q, x->observed, y->observed, x->spread) ||
			 !same_statistic(q, x->usual, y->usual, x->spread) ||
			 !near(x->spread, y->spread, 1e-9) || !near(x->r, y->r, 1e-9) || x->lag != y->lag || x->flags != y->flags)
			fail_msg("%s, counter %d of server %d: score %.17g and %.17g, observed %.17g and %.17g, usual %.17g and %.17g, "
				 "spread %.17g and %.17g, r %.17g and %.17g, lag %d and %d",
				 analysis, x->counter, x->server, x->score, y->score, x->observed, y->observed, x->usual, y->usual,
				 x->spread, y->spread, x->r, y->r, x->lag, y->lag);
	}
	n = here.list.n;
	fleet_findings_free(&here);
	fleet_findings_free(&there);
	return n;
}

static void what_is_there_is_known_by_name(void **state)
{
	const struct fleet *f;

	(void)state;
	needs_servers();
	f = fleet_engine_fleet(engine);
	assert_int_equal(f->servers.n, SERVERS);
	assert_int_equal(f->counters.n, COUNTERS);
	assert_int_equal(f->interval, D);
	assert_string_equal(f->counters.v[fleet_find_counter(f, local->counters.v[0].name)].unit, "things");
}

static void both_shards_have_a_part(void **state)
{
	(void)state;
	needs_servers();
	for (unsigned i = 0; i < 2; i++) {
		struct fleet_engine *one;
		char *error = NULL;

		if (fleet_engine_open(url_of(i, "default/fleet_values"), NULL, NULL, &one, &error) < 0)
			fail_msg("%s", error);
		assert_in_range(fleet_engine_fleet(one)->servers.n, 1, SERVERS - 1);
		fleet_engine_close(one);
	}
}

static void equation_1_is_the_same(void **state)
{
	struct fleet_question q;

	(void)state;
	needs_servers();
	q = fleet_question_default(local);
	assert_int_equal(check_same("within", &q), SERVERS * COUNTERS - 2 * SERVERS - (SERVERS - 5));
	q.statistic = FLEET_AVERAGE;
	check_same("within", &q);
	q.statistic = FLEET_QUANTILE;
	q.quantile = 0.9;
	check_same("within", &q);
	q.window = (struct fleet_span){T + 33 * D, T + 72 * D};
	q.counter = 5;
	q.statistic = FLEET_MEDIAN;
	assert_int_equal(check_same("within", &q), SERVERS);
}

static void equation_1_of_time_points_is_the_same(void **state)
{
	struct fleet_question q;

	(void)state;
	needs_servers();
	q = fleet_question_default(local);
	q.by_time = true;
	q.counter = 1;
	q.window = (struct fleet_span){T, T + 250 * D};
	assert_true(check_same("within", &q) > 200);
}

static void equation_2_is_the_same(void **state)
{
	struct fleet_question q;

	(void)state;
	needs_servers();
	q = fleet_question_default(local);
	q.usual = (struct fleet_span){T, T + 200 * D};
	q.window = (struct fleet_span){T + 200 * D, T + ROWS * D};
	assert_int_equal(check_same("between", &q), COUNTERS - 2);
	q.statistic = FLEET_QUANTILE;
	q.quantile = 0.37;
	check_same("between", &q);
	q.statistic = FLEET_AVERAGE;
	check_same("between", &q);
}

static void correlations_are_the_same(void **state)
{
	struct fleet_question q;

	(void)state;
	needs_servers();
	q = fleet_question_default(local);
	q.counter = 0;
	q.server = 4;
	q.threshold = 0.3;
	assert_true(check_same("correlation", &q) >= 2 * SERVERS - 1);
	q.max_lag = 6;
	assert_true(check_same("correlation", &q) >= 2 * SERVERS - 1);
	q.server = -1;
	check_same("correlation", &q);
	q.server = 4;
	q.spearman = true;
	q.threshold = 0.2;
	assert_true(check_same("correlation", &q) >= 2 * SERVERS - 1);
	q.max_lag = 0;
	check_same("correlation", &q);
}

/* In double, two passes: what both engines are measured against. */
static double exact_sd(int counter, size_t *ret_n)
{
	double sum = 0, squares = 0;
	size_t n = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t s = 0; s < SERVERS; s++)
			for (uint32_t k = 0; local->servers.v[s].column[counter] && k < local->servers.v[s].n; k++) {
				double v = (double)local->servers.v[s].column[counter][k];

				if (isnan(v))
					continue;
				if (pass == 0) {
					sum += v;
					n++;
				} else {
					squares += (v - sum / (double)n) * (v - sum / (double)n);
				}
			}
	*ret_n = n;
	return sqrt(squares / (double)n);
}

static double exact_r(const float *x, const float *y, size_t n)
{
	double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;

	for (size_t k = 0; k < n; k++) {
		mx += (double)x[k] / (double)n;
		my += (double)y[k] / (double)n;
	}
	for (size_t k = 0; k < n; k++) {
		xx += ((double)x[k] - mx) * ((double)x[k] - mx);
		yy += ((double)y[k] - my) * ((double)y[k] - my);
		xy += ((double)x[k] - mx) * ((double)y[k] - my);
	}
	return xy / sqrt(xx * yy);
}

static void sums_are_exact(void **state)
{
	struct fleet_findings f = {};
	struct fleet_question q;

	(void)state;
	needs_servers();
	q = fleet_question_default(local);
	q = for_engine(&q);
	assert_int_equal(fleet_engine_run(engine, NULL, "between", &q, &f), 0);
	for (size_t i = 0; i < f.list.n; i++) {
		const struct fleet_finding *x = &f.list.v[i];
		size_t n;

		assert_true(near(x->spread, exact_sd(fleet_find_counter(local, q.fleet->counters.v[x->counter].name), &n), 1e-9));
		assert_int_equal(x->n, n);
	}
	fleet_findings_free(&f);
}

static void coefficients_are_exact(void **state)
{
	struct fleet_findings f = {};
	struct fleet_question q;

	(void)state;
	needs_servers();
	q = fleet_question_default(local);
	q.counter = 0;
	q.server = 4;
	q.threshold = 0.5;
	q = for_engine(&q);
	assert_int_equal(fleet_engine_run(engine, NULL, "correlation", &q, &f), 0);
	assert_true(f.list.n >= 2 * SERVERS - 1);
	for (size_t i = 0; i < f.list.n; i++) {
		const struct fleet_finding *x = &f.list.v[i];
		int c = fleet_find_counter(local, q.fleet->counters.v[x->counter].name);
		int s = fleet_find_server(local, q.fleet->servers.v[x->server].name);

		assert_true(near(x->r, exact_r(local->servers.v[4].column[0], local->servers.v[s].column[c], ROWS), 1e-9));
		assert_int_equal(x->n, ROWS);
	}
	fleet_findings_free(&f);
}

static void views_are_what_the_columns_say(void **state)
{
	struct fleet_view servers = {}, times = {};
	struct fleet_span all = {INT64_MIN, INT64_MAX};
	int c;

	(void)state;
	needs_servers();
	c = fleet_find_counter(fleet_engine_fleet(engine), local->counters.v[5].name);
	if (fleet_engine_view(engine, c, all, FLEET_SERVER_VIEW, &servers) < 0 || fleet_engine_view(engine, c, all, FLEET_TIME_VIEW, &times) < 0)
		fail_msg("%s", fleet_engine_error(engine));
	assert_int_equal(servers.rows.n, SERVERS);
	assert_int_equal(times.rows.n, ROWS);
	for (size_t i = 0; i < SERVERS; i++) {
		const struct fleet_summary *x = &servers.rows.v[i];
		struct piece piece = {local->servers.v[fleet_find_server(local, fleet_engine_fleet(engine)->servers.v[x->server].name)].column[5], ROWS};
		_cleanup_(select_room_free) struct select_room room = {};
		struct column_moments m;

		column_moments_of(&piece, 1, &m);
		assert_int_equal(x->n, m.n);
		assert_true(near(x->mean, m.mean, 1e-9) && near(x->sd, m.sd, 1e-9));
		assert_true(same(x->min, (double)m.min) && same(x->max, (double)m.max));
		assert_true(same(x->median, columns_median(&piece, 1, &room)));
		assert_true(same(x->q25, columns_quantile(&piece, 1, 0.25, &room)));
	}
	assert_int_equal(times.rows.v[0].time, T);
	assert_int_equal(times.rows.v[ROWS - 1].n, SERVERS);
	VEC_FREE(servers.rows);
	VEC_FREE(times.rows);
}

static void what_only_the_local_engine_has_is_said(void **state)
{
	struct fleet_findings f = {};
	struct fleet_question q;

	(void)state;
	needs_servers();
	q = fleet_question_default(fleet_engine_fleet(engine));
	assert_int_equal(fleet_engine_run(engine, NULL, "alarm", &q, &f), -EOPNOTSUPP);
	assert_non_null(strstr(fleet_engine_error(engine), "within, between and correlation"));
	assert_int_equal(fleet_engine_run(engine, NULL, "correlation", &q, &f), -EINVAL);
	fleet_findings_free(&f);
}

/* Rows of one server on both shards would give two medians: that is refused, not averaged. */
static void a_server_on_two_shards_is_refused(void **state)
{
	struct fleet_findings f = {};
	struct fleet_question q;
	struct fleet_engine *e;
	struct clickhouse *c;
	char *error = NULL;

	(void)state;
	needs_servers();
	for (unsigned i = 0; i < 2; i++) {
		c = shard_client(&shards, i, "");
		assert_int_equal(clickhouse_query(c, "CREATE TABLE torn AS fleet_values ENGINE = Memory", NULL, NULL, NULL), 0);
		assert_int_equal(clickhouse_query(c, "INSERT INTO torn VALUES ('a', 'x', 1000000000, 1), ('a', 'x', 2000000000, 2)", NULL, NULL, NULL), 0);
		if (i == 0)
			assert_int_equal(clickhouse_query(c, "CREATE TABLE torn_all AS torn ENGINE = Distributed(fleet, default, torn)", NULL, NULL, NULL), 0);
		clickhouse_close(c);
	}
	if (fleet_engine_open(url_of(0, "default/torn_all"), NULL, NULL, &e, &error) < 0)
		fail_msg("%s", error);
	q = fleet_question_default(fleet_engine_fleet(e));
	assert_int_equal(fleet_engine_run(e, NULL, "within", &q, &f), -EINVAL);
	assert_non_null(strstr(fleet_engine_error(e), "must be sharded by server"));
	fleet_findings_free(&f);
	fleet_engine_close(e);
}

static void a_database_without_the_table_is_said(void **state)
{
	struct fleet_engine *e;
	char *error = NULL;

	(void)state;
	needs_servers();
	assert_int_equal(fleet_engine_open(url_of(0, "system"), NULL, NULL, &e, &error), -ENOENT);
	assert_non_null(strstr(error, "docs/clickhouse.md"));
	free(error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_known_by_name),
		cmocka_unit_test(both_shards_have_a_part),
		cmocka_unit_test(equation_1_is_the_same),
		cmocka_unit_test(equation_1_of_time_points_is_the_same),
		cmocka_unit_test(equation_2_is_the_same),
		cmocka_unit_test(correlations_are_the_same),
		cmocka_unit_test(sums_are_exact),
		cmocka_unit_test(coefficients_are_exact),
		cmocka_unit_test(views_are_what_the_columns_say),
		cmocka_unit_test(what_only_the_local_engine_has_is_said),
		cmocka_unit_test(a_server_on_two_shards_is_refused),
		cmocka_unit_test(a_database_without_the_table_is_said),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
