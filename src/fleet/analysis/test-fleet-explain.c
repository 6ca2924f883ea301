/* What explains a symptom, and since when: stories of a few servers written row by row. */
#include "lib/data/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/analysis/fleet-onset.h"
#include "fleet/model/intake.h"
#include "lib/data/clock.h"

#define MINUTE (60 * NS_PER_SEC)
#define ROWS   200
#define BEGIN  150 /* the incident's first row */

static void release(struct fleet *f)
{
	fleet_free(f);
	free(f);
}

/* Noise that is the same in each run: -1 .. 1. */
static double wobble(unsigned series, unsigned row)
{
	unsigned x = (series * 7919 + row) * 2654435761u;

	return (double)((x ^ x >> 15) % 2001) / 1000 - 1;
}

/* A counter of a server: 100 with noise, and `by` more from row BEGIN + late on. */
static void put(struct intake *in, const char *server, const char *counter, double by, unsigned late, unsigned rows)
{
	const struct counter_info gauge = {.kind = FLEET_GAUGE};
	int s = intake_server(in, server), c = intake_counter(in, counter, &gauge);
	unsigned series = (unsigned)(s * 31 + c + 1);

	for (unsigned t = 0; t < rows; t++)
		assert_int_equal(intake_put(in, s, c, (int64_t)t * MINUTE, 100 + wobble(series, t) + (t >= BEGIN + late ? by : 0)), 0);
}

static struct fleet *finish(struct intake *in)
{
	struct fleet *f;

	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	return f;
}

static struct fleet_question about(const struct fleet *f, unsigned from, const char *server, const char *counter)
{
	struct fleet_question q = fleet_question_default(f);

	q.window.from = (int64_t)from * MINUTE;
	q.server = fleet_find_server(f, server);
	q.counter = fleet_find_counter(f, counter);
	q.max_lag = FLEET_LAG_BY_ROWS;
	return q;
}

static struct fleet_findings explain(const struct fleet_question *q)
{
	struct fleet_findings found = {};

	assert_int_equal(fleet_analysis_find("explain")->run(q, &found), 0);
	return found;
}

static void a_late_window_grows_back_to_the_first_row_of_the_trouble(void **state)
{
	struct intake *in = intake_new();
	struct fleet_question q;
	struct fleet_span grown;
	struct fleet *f;

	put(in, "a", "cpu", 20, 0, ROWS);
	put(in, "a", "queue", 30, 0, ROWS);
	put(in, "b", "cpu", 0, 0, ROWS);
	f = finish(in);
	q = about(f, BEGIN + 10, "a", "cpu");
	assert_int_equal(fleet_window_grow(&q, false, &grown), 0);
	assert_int_equal(grown.from, (int64_t)BEGIN * MINUTE);
	q.window.from = (int64_t)BEGIN * MINUTE; /* in time: nothing to add */
	assert_int_equal(fleet_window_grow(&q, false, &grown), 0);
	assert_int_equal(grown.from, q.window.from);
	q.window = (struct fleet_span){50 * MINUTE, 60 * MINUTE}; /* no trouble at all */
	assert_int_equal(fleet_window_grow(&q, false, &grown), 0);
	assert_int_equal(grown.from, q.window.from);
	release(f);
}

/* Half of the way lies at 130: the median of the baseline is 60, not one of its higher values. */
static void rows_beyond_half_of_the_way_belong_to_the_trouble(void **state)
{
	struct intake *in = intake_new();
	int server = intake_server(in, "a"), counter = intake_counter(in, "queue", NULL);
	struct fleet_question q;
	struct fleet_span grown;
	struct fleet *f;

	for (unsigned t = 0; t < ROWS; t++)
		assert_int_equal(intake_put(in, server, counter, (int64_t)t * MINUTE,
					    t >= BEGIN + 10 ? 200 : t >= BEGIN ? 135 : 50 + 50 * wobble(3, t)), 0);
	f = finish(in);
	q = about(f, BEGIN + 10, "a", "queue");
	assert_int_equal(fleet_window_grow(&q, false, &grown), 0);
	assert_int_equal(grown.from, (int64_t)BEGIN * MINUTE);
	release(f);
}

/* Every fifth row is twenty times as far away as the noise reaches; the window begins in the middle of it. */
static void bursts_of_single_rows_belong_to_a_late_window(void **state)
{
	struct intake *in = intake_new();
	int server = intake_server(in, "a"), counter = intake_counter(in, "queue", NULL);
	struct fleet_question q;
	struct fleet_span grown;
	struct fleet *f;

	for (unsigned t = 0; t < 2 * ROWS; t++)
		assert_int_equal(intake_put(in, server, counter, (int64_t)t * MINUTE,
					    50 + wobble(3, t) + (t >= 2 * ROWS - 90 && t % 5 == 0 ? 20 : 0)), 0);
	f = finish(in);
	q = about(f, 2 * ROWS - 40, "a", "queue");
	q.window.to = INT64_MAX;
	assert_int_equal(fleet_window_grow(&q, false, &grown), 0);
	assert_true(llabs(grown.from - (2 * ROWS - 90) * MINUTE) <= 8 * MINUTE);
	release(f);
}

/* Rows of an incident may look normal for a while, and those before a late window widen the baseline's spread. */
static void a_late_window_grows_back_over_what_hides_the_trouble(void **state)
{
	for (unsigned hidden = 0; hidden < 2; hidden++) {
		struct intake *in = intake_new();
		int server = intake_server(in, "a"), counter = intake_counter(in, "queue", NULL);
		struct fleet_question q;
		struct fleet_span grown;
		struct fleet *f;

		for (unsigned t = 0; t < ROWS; t++) {
			bool normal = t < BEGIN || (hidden && t >= BEGIN + 10 && t < BEGIN + 13);

			assert_int_equal(intake_put(in, server, counter, (int64_t)t * MINUTE, 100 + wobble(3, t) + (normal ? 0 : hidden ? 20 : 2.6)), 0);
		}
		f = finish(in);
		q = about(f, BEGIN + (hidden ? 20 : 30), "a", "queue");
		assert_int_equal(fleet_window_grow(&q, false, &grown), 0);
		assert_in_range((unsigned)(grown.from / MINUTE), BEGIN - 1, BEGIN + 1);
		release(f);
	}
}

/* A level that came slowly, long before the window, is where the series wandered to: the window begins where it was said to. A step there is
 * an incident, noticed late; one of hours before is not. */
static void a_window_does_not_grow_over_a_level_that_wandered(void **state)
{
	static const struct {
		unsigned ramp, late; /* rows */
		bool grows;
	} cases[] = {{1, 30, true}, {60, 30, false}, {1, 80, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct intake *in = intake_new();
		int server = intake_server(in, "a"), counter = intake_counter(in, "queue", NULL);
		unsigned high = 4 * ROWS - 60 - cases[i].late; /* from this row on */
		struct fleet_question q;
		struct fleet_span grown;
		struct fleet *f;

		for (unsigned t = 0; t < 4 * ROWS; t++) {
			double way = t >= high ? 1 : t + cases[i].ramp < high ? 0 : 1 - (high - t) / (double)cases[i].ramp;

			assert_int_equal(intake_put(in, server, counter, (int64_t)t * MINUTE, 100 + wobble(3, t) + 20 * way), 0);
		}
		f = finish(in);
		q = about(f, 4 * ROWS - 60, "a", "queue");
		assert_int_equal(fleet_window_grow(&q, false, &grown), 0);
		assert_int_equal(grown.from, cases[i].grows ? high * MINUTE : q.window.from);
		release(f);
	}
}

/* How far the level of rows 300 to 359 of 720 is from what it normally is, if from row 300 on it rises by `slope` a row for `rows` rows, on top of a slow cycle. */
static double level_of_a_rise(double slope, unsigned rows)
{
	struct intake *in = intake_new();
	int server = intake_server(in, "a"), counter = intake_counter(in, "memory", NULL);
	struct fleet_findings found = {};
	struct fleet_question q;
	struct fleet *f;
	double level;

	for (unsigned t = 0; t < 720; t++) {
		unsigned risen = t < 300 ? 0 : t - 300 < rows ? t - 300 : 0;

		assert_int_equal(intake_put(in, server, counter, (int64_t)t * MINUTE, 100 + wobble(5, t) + 10 * sin(t * M_PI / 720) + slope * risen), 0);
	}
	f = finish(in);
	q = about(f, 300, "a", "memory");
	q.window.to = 360 * MINUTE;
	assert_int_equal(fleet_analysis_find("deviation")->run(&q, &found), 0);
	level = found.list.v[0].level;
	fleet_findings_free(&found);
	release(f);
	return level;
}

/* The rows after the window, which have the rest of the leak, count as normal: its first hour is near their middle, but climbs unlike other hours. */
static void a_leak_is_seen_in_its_first_hour(void **state)
{
	assert_true(level_of_a_rise(0, 0) < 3);
	assert_true(level_of_a_rise(.4, 60) > 5);
	assert_true(level_of_a_rise(.4, 180) > 5); /* for a quarter of the data */
}

/* A mesh measures calls, the servers their own CPUs. Who is called late is the one that answers late; the mesh does nothing. */
static void a_late_call_counts_for_who_is_called(void **state)
{
	struct intake *in = intake_new();
	struct fleet_findings found = {};
	struct fleet_question q;
	struct fleet *f;
	unsigned listed = 0;

	put(in, "frontend", "cpu", 10, 0, ROWS);
	put(in, "cart-7d9f8b6c5-x2x9z", "cpu", 0, 0, ROWS);
	put(in, "pay", "cpu", 0, 0, ROWS);
	put(in, "mesh", "frontend_pay", 0, 0, ROWS);
	put(in, "mesh", "frontend_cart", 30, 0, ROWS);
	f = finish(in);
	q = fleet_question_default(f);
	q.window = (struct fleet_span){BEGIN * MINUTE, (BEGIN + 5) * MINUTE};
	q.usual.to = q.window.from;
	assert_int_equal(fleet_analysis_find("alarm")->run(&q, &found), 0);
	assert_int_equal(found.list.v[0].server, fleet_find_server(f, "cart-7d9f8b6c5-x2x9z"));
	assert_int_equal(found.list.v[0].counter, fleet_find_counter(f, "frontend_cart"));
	assert_true(found.list.v[0].flags & FLEET_CALLED);
	assert_int_equal(found.list.v[0].measured_on, fleet_find_server(f, "mesh"));
	assert_true(found.list.v[0].p < 0.01);
	for (size_t i = 0; i < found.list.n; i++)
		listed += found.list.v[i].server != fleet_find_server(f, "mesh");
	assert_int_equal(listed, 3);
	assert_int_equal(found.list.n, 3);
	fleet_findings_free(&found);
	q.server = fleet_find_server(f, "frontend");
	q.counter = fleet_find_counter(f, "cpu");
	found = explain(&q);
	assert_int_equal(found.list.v[0].counter, fleet_find_counter(f, "frontend_cart"));
	assert_int_equal(found.list.v[0].server, fleet_find_server(f, "cart-7d9f8b6c5-x2x9z"));
	assert_int_equal(fleet_finding_column(&found.list.v[0]), fleet_find_server(f, "mesh"));
	fleet_findings_free(&found);
	release(f);
}

/* The end of a window too long to be calibrated counts as well: a ramp begins with nothing. */
static void the_end_of_a_long_window_raises_the_alarm(void **state)
{
	struct intake *in = intake_new();
	struct fleet_findings found = {};
	struct fleet_question q;
	struct fleet *f;

	put(in, "a", "cpu", 0, 0, ROWS);
	put(in, "b", "cpu", 20, 40, ROWS);
	f = finish(in);
	q = about(f, BEGIN, "b", "cpu");
	q.server = q.counter = -1;
	assert_int_equal(fleet_analysis_find("alarm")->run(&q, &found), 0);
	assert_true(found.shortened);
	assert_string_equal(f->servers.v[found.list.v[0].server].name, "b");
	assert_true(found.list.v[0].q <= 0.05);
	fleet_findings_free(&found);
	release(f);
}

/* A window that begins two rows late has the step that began the incident. */
static void a_step_shortly_before_the_window_is_its_jump(void **state)
{
	struct intake *in = intake_new();
	struct fleet_findings found = {};
	struct fleet_question q;
	struct fleet *f;

	put(in, "a", "cpu", 20, 0, ROWS);
	f = finish(in);
	q = about(f, BEGIN + 2, "a", "cpu");
	q.window.to = (int64_t)(BEGIN + 12) * MINUTE;
	q.usual.to = q.window.from;
	assert_int_equal(fleet_analysis_find("deviation")->run(&q, &found), 0);
	assert_int_equal(found.list.n, 1);
	assert_true(found.list.v[0].jump > 3);
	fleet_findings_free(&found);
	release(f);
}

static void few_rows_tell_of_no_lag(void **state)
{
	struct intake *in = intake_new();
	struct fleet_findings found;
	struct fleet_question q;
	struct fleet *f;

	put(in, "a", "latency", 20, 0, ROWS);
	for (int i = 0; i < 8; i++) {
		char name[8];

		snprintf(name, sizeof(name), "x%d", i);
		put(in, name, "cpu", 20, (unsigned)i % 4, ROWS);
	}
	f = finish(in);
	q = about(f, BEGIN, "a", "latency");
	q.window.to = (BEGIN + 6) * MINUTE;
	found = explain(&q);
	assert_true(found.list.n == 8);
	for (size_t i = 0; i < found.list.n; i++)
		assert_int_equal(found.list.v[i].lag, 0);
	fleet_findings_free(&found);
	release(f);
}

/* An hour of rows tells that one moved two rows before the symptom. */
static void many_rows_tell_who_led(void **state)
{
	struct intake *in = intake_new();
	struct fleet_findings found;
	struct fleet_question q;
	struct fleet *f;

	put(in, "a", "latency", 20, 2, ROWS);
	put(in, "b", "disk", 20, 0, ROWS);
	f = finish(in);
	q = about(f, BEGIN, "a", "latency");
	found = explain(&q);
	assert_int_equal(found.list.n, 1);
	assert_int_equal(found.list.v[0].lag, 2);
	fleet_findings_free(&found);
	release(f);
}

static void another_statistic_of_the_symptom_explains_nothing(void **state)
{
	struct intake *in = intake_new();
	struct fleet_findings found;
	struct fleet_question q;
	struct fleet *f;

	put(in, "a", "latency.avg", 20, 0, ROWS);
	put(in, "a", "latency.p99", 20, 0, ROWS);
	put(in, "b", "latency.p99", 20, 0, ROWS);
	f = finish(in);
	q = about(f, BEGIN, "a", "latency.avg");
	found = explain(&q);
	assert_int_equal(found.list.n, 1);
	assert_int_equal(found.list.v[0].server, fleet_find_server(f, "b"));
	fleet_findings_free(&found);
	release(f);
}

/* One counter of `lone` moved as the symptom did and its other one did not; both of `ill` did. */
static void two_counters_of_a_server_say_more_than_one(void **state)
{
	struct intake *in = intake_new();
	struct fleet_findings found;
	struct fleet_question q;
	struct fleet *f;

	put(in, "a", "latency", 20, 0, ROWS);
	put(in, "lone", "cpu", 40, 0, ROWS);
	put(in, "lone", "disk", 0, 0, ROWS);
	put(in, "ill", "cpu", 20, 0, ROWS);
	put(in, "ill", "disk", 20, 0, ROWS);
	f = finish(in);
	q = about(f, BEGIN, "a", "latency");
	q.window.to = (BEGIN + 4) * MINUTE; /* few rows */
	found = explain(&q);
	assert_int_equal(found.list.n, 4);
	assert_int_equal(found.list.v[0].server, fleet_find_server(f, "ill"));
	assert_int_equal(found.list.v[1].server, fleet_find_server(f, "ill"));
	assert_true(found.list.v[2].score < 0.8);
	fleet_findings_free(&found);
	release(f);
}

/* Six servers with a common cycle of 20 %; `ill` of them double in rows BEGIN .. BEGIN + 20. */
static struct fleet *six_with_a_cycle(unsigned ill)
{
	const struct counter_info gauge = {.kind = FLEET_GAUGE};
	struct intake *in = intake_new();
	int counter = intake_counter(in, "latency_ms", &gauge);

	for (unsigned s = 0; s < 6; s++) {
		char name[8];
		int server;

		snprintf(name, sizeof(name), "web-%u", s);
		server = intake_server(in, name);
		for (unsigned t = 0; t < ROWS; t++) {
			double x = 100 + 20 * sin(t / 10.0) + wobble(s, t);

			assert_int_equal(intake_put(in, server, counter, (int64_t)t * MINUTE, s < ill && t >= BEGIN && t < BEGIN + 20 ? 2 * x : x), 0);
		}
	}
	return finish(in);
}

static void judge_web_0(struct fleet *f, struct fleet_finding *ret)
{
	struct fleet_question q = fleet_question_default(f);
	struct fleet_findings found = {};

	q.window = (struct fleet_span){BEGIN * MINUTE, (BEGIN + 20) * MINUTE};
	q.server = fleet_find_server(f, "web-0");
	assert_int_equal(fleet_analysis_find("deviation")->run(&q, &found), 0);
	assert_int_equal(found.list.n, 1);
	*ret = found.list.v[0];
	fleet_findings_free(&found);
}

static void what_is_observed_is_in_the_data_also_where_peers_judge(void **state)
{
	struct fleet *f = six_with_a_cycle(1);
	struct fleet_finding x;

	judge_web_0(f, &x);
	assert_true(x.flags & FLEET_PEER);
	assert_true(x.observed > 160 && x.observed < 245);
	assert_true(x.usual > 95 && x.usual < 105);
	release(f);
}

/* Five of six: their median is ill too, and no one differs from it. */
static void a_role_that_is_ill_as_a_whole_is_unusual(void **state)
{
	struct fleet *f = six_with_a_cycle(5);
	struct fleet_finding x;

	judge_web_0(f, &x);
	assert_true(x.score > 3);
	assert_true(x.observed > 160);
	release(f);
}

/* Against the first ROWS rows. */
static double p_of_the_only_alarm(struct intake *in, struct fleet_span window)
{
	struct fleet *f = finish(in);
	struct fleet_question q = fleet_question_default(f);
	struct fleet_findings found = {};
	double p;

	q.usual.to = ROWS * MINUTE;
	q.window = window;
	assert_int_equal(fleet_analysis_find("alarm")->run(&q, &found), 0);
	assert_int_equal(found.list.n, 1);
	p = found.list.v[0].p;
	fleet_findings_free(&found);
	release(f);
	return p;
}

/* The p of one window of a machine whose counters drift, against the time before it only. */
static double p_after_a_drift(double step)
{
	const struct counter_info gauge = {.kind = FLEET_GAUGE};
	struct intake *in = intake_new();
	int server = intake_server(in, "a");

	for (unsigned c = 0; c < 4; c++) {
		char name[8];

		snprintf(name, sizeof(name), "c%u", c);
		for (unsigned t = 0; t < 2 * ROWS; t++)
			assert_int_equal(intake_put(in, server, intake_counter(in, name, &gauge), (int64_t)t * MINUTE,
						    100 + (c % 2 ? 0.1 : -0.1) * t + 2 * wobble(c, t) + (t > ROWS ? step : 0)), 0);
	}
	return p_of_the_only_alarm(in, (struct fleet_span){(ROWS + 4) * MINUTE, (ROWS + 14) * MINUTE});
}

static void a_drift_raises_no_alarm_and_a_step_does(void **state)
{
	assert_true(p_after_a_drift(0) > 0.04);
	assert_true(p_after_a_drift(300) < 0.04);
}

/* The p of a window of five rows, against the first half only; at the beginning of the second half level and noise changed for good. */
static double p_long_after_a_change(double step)
{
	struct intake *in = intake_new();
	int server = intake_server(in, "a");

	for (unsigned c = 0; c < 4; c++) {
		char name[8];

		snprintf(name, sizeof(name), "c%u", c);
		for (unsigned t = 0; t < 2 * ROWS; t++)
			assert_int_equal(intake_put(in, server, intake_counter(in, name, NULL), (int64_t)t * MINUTE,
						    (t < ROWS ? 100 + 2 * wobble(c, t) : 150 + 10 * wobble(c, t)) + (t >= 2 * ROWS - 5 ? step : 0)), 0);
	}
	return p_of_the_only_alarm(in, (struct fleet_span){(2 * ROWS - 5) * MINUTE, INT64_MAX});
}

static void a_change_long_before_the_window_did_not_happen_in_it(void **state)
{
	assert_true(p_long_after_a_change(0) > 0.04);
	assert_true(p_long_after_a_change(100) < 0.04);
}

/* A normal time of few windows still tells who is most unusual; how often that comes by chance it does not tell. */
static void without_windows_to_compare_servers_are_listed_without_p(void **state)
{
	struct fleet *f = six_with_a_cycle(1);
	struct fleet_question q = fleet_question_default(f);
	struct fleet_findings found = {};

	q.window = (struct fleet_span){BEGIN * MINUTE, (BEGIN + 8) * MINUTE};
	q.usual = (struct fleet_span){(BEGIN - 30) * MINUTE, BEGIN * MINUTE};
	assert_int_equal(fleet_analysis_find("alarm")->run(&q, &found), 0);
	assert_int_equal(found.list.n, 6);
	assert_int_equal(found.list.v[0].server, fleet_find_server(f, "web-0"));
	assert_true(isnan(found.list.v[0].p) && isnan(found.list.v[0].q));
	fleet_findings_free(&found);
	release(f);
}

/* Six rows after a gap, in which all have the same shape. */
static void put_shape(struct intake *in, const char *server, const char *counter, double by)
{
	static const double shape[] = {0.7, 1.3, 0.8, 1.2, 0.9, 1.1};
	int s = intake_server(in, server), c = intake_counter(in, counter, NULL);

	put(in, server, counter, 0, 0, BEGIN);
	for (unsigned t = 0; t < 6; t++)
		assert_int_equal(intake_put(in, s, c, (10000 + (int64_t)t) * MINUTE, 100 + by + 20 * shape[t]), 0);
}

static void a_counter_on_the_other_side_of_normal_explains_less(void **state)
{
	struct intake *in = intake_new();
	struct fleet_findings found;
	struct fleet_question q;
	struct fleet *f;

	put_shape(in, "front", "latency", 20);
	put_shape(in, "below", "latency", -80); /* moves with it, but has fallen while the symptom rose */
	put_shape(in, "above", "latency", 10);
	f = finish(in);
	q = about(f, 10000, "front", "latency");
	found = explain(&q);
	assert_int_equal(found.list.n, 2);
	assert_int_equal(found.list.v[0].server, fleet_find_server(f, "above"));
	assert_true(found.list.v[1].r > 0.99 && found.list.v[1].score < 0.8 * found.list.v[0].score);
	fleet_findings_free(&found);
	release(f);
}

RUN_TESTS(cmocka_unit_test(bursts_of_single_rows_belong_to_a_late_window), cmocka_unit_test(rows_beyond_half_of_the_way_belong_to_the_trouble), cmocka_unit_test(a_counter_on_the_other_side_of_normal_explains_less), cmocka_unit_test(what_is_observed_is_in_the_data_also_where_peers_judge), cmocka_unit_test(a_role_that_is_ill_as_a_whole_is_unusual),
	  cmocka_unit_test(a_drift_raises_no_alarm_and_a_step_does), cmocka_unit_test(a_change_long_before_the_window_did_not_happen_in_it),
	  cmocka_unit_test(without_windows_to_compare_servers_are_listed_without_p),
	  cmocka_unit_test(a_late_window_grows_back_to_the_first_row_of_the_trouble), cmocka_unit_test(a_late_window_grows_back_over_what_hides_the_trouble),
	  cmocka_unit_test(a_window_does_not_grow_over_a_level_that_wandered), cmocka_unit_test(a_leak_is_seen_in_its_first_hour), cmocka_unit_test(a_late_call_counts_for_who_is_called),
	  cmocka_unit_test(the_end_of_a_long_window_raises_the_alarm),
	  cmocka_unit_test(a_step_shortly_before_the_window_is_its_jump), cmocka_unit_test(few_rows_tell_of_no_lag),
	  cmocka_unit_test(many_rows_tell_who_led), cmocka_unit_test(another_statistic_of_the_symptom_explains_nothing),
	  cmocka_unit_test(two_counters_of_a_server_say_more_than_one))
