/* When something happened, where nothing says when: six servers with a daily cycle of 30 %, one of them ill. */
#include "lib/data/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/ask/fleet-why.h"
#include "fleet/ask/fleet-window.h"
#include "fleet/model/intake.h"
#include "lib/data/clock.h"

#define STEP (300 * NS_PER_SEC)
#define ROWS 288

static double wobble(unsigned series, unsigned row)
{
	unsigned x = (series * 7919 + row) * 2654435761u;

	return (double)((x ^ x >> 15) % 2001) / 1000 - 1;
}

/* web-2 has `by` times more from row `from` until row `to`. */
static struct fleet *six(double by, unsigned from, unsigned to)
{
	const struct counter_info gauge = {.kind = FLEET_GAUGE};
	struct intake *in = intake_new();
	struct fleet *f;

	for (unsigned s = 0; s < 6; s++) {
		char name[8];
		int server, counter = intake_counter(in, "requests", &gauge);

		snprintf(name, sizeof(name), "web-%u", s);
		server = intake_server(in, name);
		for (unsigned t = 0; t < ROWS; t++) {
			double x = 1000 * (1 + 0.3 * sin(2 * M_PI * t / 144)) * (1 + 0.03 * wobble(s, t));

			assert_int_equal(intake_put(in, server, counter, t * STEP, s == 2 && t >= from && t < to ? x * (1 + by) : x), 0);
		}
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	return f;
}

static void release(struct fleet *f)
{
	fleet_free(f);
	free(f);
}

static void assert_found(double by, unsigned from, unsigned to)
{
	struct fleet *f = six(by, from, to);
	struct fleet_question q = fleet_question_default(f);
	struct fleet_stretch found;

	assert_int_equal(fleet_window_find(&q, false, &found), 0);
	assert_int_equal(found.server, fleet_find_server(f, "web-2"));
	assert_true(llabs(found.span.from - from * STEP) <= 3 * STEP);
	assert_true(llabs(found.span.to - to * STEP) <= 3 * STEP);
	release(f);
}

static void a_rise_as_large_as_the_daily_cycle_is_found_by_peers(void **state)
{
	assert_found(0.3, 200, 230);
}

static void a_fault_may_last_for_most_of_the_data(void **state)
{
	assert_found(0.3, ROWS * 6 / 10, ROWS);
	assert_found(0.3, ROWS * 4 / 10, ROWS);
}

static void a_cycle_that_all_have_is_nothing(void **state)
{
	struct fleet *f = six(0, 0, 0);
	struct fleet_question q = fleet_question_default(f);
	struct fleet_findings found = {};
	struct fleet_stretch unused;

	assert_int_equal(fleet_window_find(&q, false, &unused), -ENODATA);
	assert_int_equal(fleet_levels_compare(&q, &found), 0);
	assert_int_equal(found.list.n, 0);
	fleet_findings_free(&found);
	release(f);
}

static void a_server_that_is_ill_all_the_time_differs_from_its_peers(void **state)
{
	struct fleet *f = six(0.5, 0, ROWS);
	struct fleet_question q = fleet_question_default(f);
	struct fleet_findings found = {};
	struct fleet_stretch unused;

	assert_int_equal(fleet_window_find(&q, false, &unused), -ENODATA); /* it never changes */
	assert_int_equal(fleet_levels_compare(&q, &found), 0);
	assert_int_equal(found.list.n, 1);
	assert_int_equal(found.list.v[0].server, fleet_find_server(f, "web-2"));
	assert_true(found.list.v[0].observed > 1400 && found.list.v[0].usual < 1100);
	fleet_findings_free(&found);
	release(f);
}

/* web-2's ramp begins with nothing; web-5 is twice as high all the time. */
static void a_ramp_is_named_before_a_server_of_another_level(void **state)
{
	struct intake *in = intake_new();
	const struct causes none = {};
	struct fleet_question q;
	struct fleet_answer a;
	struct fleet *f;

	for (unsigned s = 0; s < 6; s++) {
		char name[8];
		int server;

		snprintf(name, sizeof(name), "web-%u", s);
		server = intake_server(in, name);
		for (unsigned t = 0; t < 2 * ROWS; t++) {
			double ramp = s == 2 && t >= ROWS ? 0.8 * (t - ROWS) / ROWS : 0;

			assert_int_equal(intake_put(in, server, intake_counter(in, "cpu", NULL), t * STEP, (s == 5 ? 200 : 100) * (1 + ramp) + 3 * wobble(s, t)), 0);
		}
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	q = fleet_question_default(f);
	q.window.from = ROWS * STEP;
	assert_int_equal(fleet_why_answer(&q, &none, NULL, &a), 0);
	assert_int_equal(a.server, fleet_find_server(f, "web-2"));
	fleet_answer_free(&a);
	release(f);
}

/* More than are sorted at once when a median is looked for. */
static void one_of_many_differs_from_its_peers(void **state)
{
	struct intake *in = intake_new();
	struct fleet_findings found = {};
	struct fleet_question q;
	struct fleet *f;

	for (unsigned s = 0; s < 200; s++) {
		char name[12];
		int server;

		snprintf(name, sizeof(name), "web-%u", s);
		server = intake_server(in, name);
		for (unsigned t = 0; t < 8; t++)
			assert_int_equal(intake_put(in, server, intake_counter(in, "cpu", NULL), t * STEP, s == 77 ? 200 : 100 + 20 * wobble(s, 1)), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	q = fleet_question_default(f);
	assert_int_equal(fleet_levels_compare(&q, &found), 0);
	assert_int_equal(found.list.n, 1);
	assert_int_equal(found.list.v[0].server, fleet_find_server(f, "web-77"));
	assert_true(fabs(found.list.v[0].spread - 15.69) < 0.1); /* 1.4826 times the median distance */
	fleet_findings_free(&found);
	release(f);
}

static void a_window_in_a_server_that_is_ill_all_the_time_accuses_no_other(void **state)
{
	struct fleet *f = six(0.5, 0, ROWS);
	const struct causes none = {};

	for (unsigned part = 1; part <= 3; part++) { /* the second half, two thirds, three quarters */
		struct fleet_question q = fleet_question_default(f);
		struct fleet_answer a;

		q.window = (struct fleet_span){(ROWS / (part + 1)) * STEP, INT64_MAX};
		assert_int_equal(fleet_why_answer(&q, &none, NULL, &a), 0);
		assert_false(a.found_window);
		assert_true(a.calm && !a.named); /* the window is answered: nothing happened in it */
		assert_int_equal(a.asked.from, q.window.from);
		fleet_answer_free(&a);
	}
	release(f);
}

/* The row that is half as far lies a hundred rows behind the beginning. */
static void a_ramp_began_where_it_left_normal(void **state)
{
	const struct causes none = {};
	struct intake *in = intake_new();
	int server = intake_server(in, "db"), counter = intake_counter(in, "wait", NULL);
	struct fleet_question q;
	struct fleet_answer a;
	struct fleet *f;

	for (unsigned t = 0; t < 600; t++) {
		double ramp = t >= 400 ? 0.8 * (t - 400) / 200 : 0;

		assert_int_equal(intake_put(in, server, counter, t * STEP, 100 * (1 + ramp) + 3 * wobble(1, t)), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	q = fleet_question_default(f);
	q.window = (struct fleet_span){380 * STEP, INT64_MAX};
	q.server = q.counter = 0;
	assert_int_equal(fleet_why_answer(&q, &none, NULL, &a), 0);
	assert_true(llabs(a.symptom.since - 400 * STEP) <= 15 * STEP);
	fleet_answer_free(&a);
	release(f);
}

/* Availability is 100, now and then a little less, and was 40 when the server started: next to that no fall has a size. `low` of the five rows that are asked
 * about lie where one in a hundred does. */
static bool a_fall_is_unusual(unsigned low)
{
	const struct causes none = {};
	struct intake *in = intake_new();
	int server = intake_server(in, "front"), counter = intake_counter(in, "availability", NULL);
	struct fleet_question q;
	struct fleet_answer a;
	struct fleet *f;
	bool unusual;

	for (unsigned t = 0; t < 600; t++) {
		double x = t == 0 ? 40 : t % 12 == 3 ? 98 : t % 150 == 70 ? 94 : 100;

		assert_int_equal(intake_put(in, server, counter, t * STEP, t >= 400 && t < 400 + low ? 93 : x), 0);
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	q = fleet_question_default(f);
	q.window = (struct fleet_span){398 * STEP, 403 * STEP};
	q.server = q.counter = 0;
	assert_int_equal(fleet_why_answer(&q, &none, NULL, &a), 0);
	unusual = a.unusual_symptom;
	fleet_answer_free(&a);
	release(f);
	return unusual;
}

static void rows_that_are_rare_make_a_symptom_unusual_after_a_start(void **state)
{
	assert_false(a_fall_is_unusual(0));
	assert_false(a_fall_is_unusual(1));
	assert_true(a_fall_is_unusual(2));
}

/* The incident is over when the window begins. */
static void a_window_that_begins_too_late_is_judged_from_before_it(void **state)
{
	struct fleet *f = six(0.6, 200, 204);
	struct fleet_question q = fleet_question_default(f);
	const struct causes none = {};
	struct fleet_answer a;

	q.window = (struct fleet_span){206 * STEP, 212 * STEP};
	assert_int_equal(fleet_why_answer(&q, &none, NULL, &a), 0);
	assert_false(a.calm);
	assert_int_equal(a.server, fleet_find_server(f, "web-2"));
	assert_int_equal(a.window.from, 203 * STEP);
	fleet_answer_free(&a);
	release(f);
}

/* The window is a sixth of the incident, and lies at its end. */
static void an_incident_began_when_it_began_however_late_the_window(void **state)
{
	struct fleet *f = six(0.6, ROWS - 108, ROWS);
	struct fleet_question q = fleet_question_default(f);
	const struct causes none = {};
	struct fleet_answer a;

	q.window = (struct fleet_span){(ROWS - 18) * STEP, INT64_MAX};
	q.server = fleet_find_server(f, "web-2");
	assert_int_equal(fleet_why_answer(&q, &none, NULL, &a), 0);
	assert_true(llabs(a.symptom.since - (ROWS - 108) * STEP) <= STEP);
	fleet_answer_free(&a);
	release(f);
}

/* Status 1 of `fleet why`; what is asked about may be normal while others are not. */
static void a_window_in_which_nothing_is_unusual_is_calm(void **state)
{
	struct fleet *f = six(0.5, 200, 230);
	const struct causes none = {};
	static const struct {
		int64_t from, to;
		const char *server, *says;
		bool calm;
	} cases[] = {
		{100, 120, NULL, "Nothing is unusual in this window. Farthest from normal is ", true},
		{100, 120, "web-1", " is not unusual: ", true},
		{200, 230, NULL, "requests of web-2 is unusually high", false},
		{200, 230, "web-1", " is not unusual: ", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fleet_question q = fleet_question_default(f);
		struct fleet_answer a;

		q.window = (struct fleet_span){cases[i].from * STEP, cases[i].to * STEP};
		q.server = cases[i].server ? fleet_find_server(f, cases[i].server) : -1;
		q.counter = cases[i].server ? 0 : -1;
		assert_int_equal(fleet_why_answer(&q, &none, NULL, &a), 0);
		assert_int_equal(a.calm, cases[i].calm);
		assert_non_null(strstr(a.summary, cases[i].says));
		assert_true(a.unusual_symptom || (!a.led && !a.n_chain && !strstr(a.summary, "conspicuous (q")));
		fleet_answer_free(&a);
	}
	release(f);
}

#define DAY 1440

/* Six servers with a daily cycle of 25 %, whose requests are `rise` times more in rows begin .. end. */
static struct fleet *all_ill(double rise, unsigned begin, unsigned end)
{
	struct intake *in = intake_new();
	struct fleet *f;

	for (unsigned s = 0; s < 6; s++) {
		char name[8];
		int server;

		snprintf(name, sizeof(name), "web-%u", s);
		server = intake_server(in, name);
		for (unsigned t = 0; t < DAY; t++) {
			double cycle = 1 + 0.25 * sin(2 * M_PI * t / DAY);

			assert_int_equal(intake_put(in, server, intake_counter(in, "requests", NULL), t * STEP, 100 * cycle * (t >= begin && t < end ? rise : 1) + 12 * wobble(s, t)), 0);
		}
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	return f;
}

/* Each hour's answer: all six have the incident, or there is none. */
static void assert_all_ill(double rise, unsigned begin, unsigned end)
{
	const struct causes none = {};
	struct fleet *f = all_ill(rise, begin, end);

	for (unsigned from = 60; from < DAY; from += 60) {
		struct fleet_question q = fleet_question_default(f);
		struct fleet_answer a;
		bool ill = from >= begin && from + 60 <= end;

		q.window = (struct fleet_span){from * STEP, (from + 60) * STEP};
		assert_int_equal(fleet_why_answer(&q, &none, NULL, &a), 0);
		if (ill || from + 60 < begin || from > end) {
			assert_int_equal(a.common, ill ? 6 : 0);
			assert_int_equal(a.calm, !ill);
		}
		fleet_answer_free(&a);
	}
	release(f);
}

/* Within the cycle none is far enough away to stand out alone, nor do all of them lie farther than the cycle's peak: what tells the incident is its edge. */
static void what_all_do_together_is_an_incident_where_none_stands_out(void **state)
{
	assert_all_ill(1.9, 1245, DAY);
	assert_all_ill(1.5, 600, 840);
	assert_all_ill(1.5, 840, 1020);
	assert_all_ill(0.6, 300, 480);
}

/* Three servers of unlike work with a daily cycle, of which one is half as busy again from row 600 to 840: a cycle's peak lies nearly as far from normal. */
static void a_plateau_within_a_cycle_is_known_by_its_edges(void **state)
{
	static const char *const names[] = {"gateway", "ledger", "mail"};
	const struct causes none = {};
	struct intake *in = intake_new();
	struct fleet *f;

	for (unsigned s = 0; s < 3; s++)
		for (unsigned t = 0; t < DAY; t++)
			assert_int_equal(intake_put(in, intake_server(in, names[s]), intake_counter(in, "requests", NULL), t * STEP,
						    100 * (1 + 0.25 * sin(2 * M_PI * t / DAY)) * (s == 1 && t >= 600 && t < 840 ? 1.5 : 1) + 6 * wobble(s, t)), 0);
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	for (unsigned from = 60; from < DAY; from += 60) {
		struct fleet_question q = fleet_question_default(f);
		struct fleet_answer a;

		q.window = (struct fleet_span){from * STEP, (from + 60) * STEP};
		assert_int_equal(fleet_why_answer(&q, &none, NULL, &a), 0);
		if (from + 60 < 600 || from > 840)
			assert_true(a.calm);
		else if (from >= 600 && from + 60 <= 840)
			assert_true(!a.calm && !a.common && a.culprit.server == fleet_find_server(f, "ledger"));
		fleet_answer_free(&a);
	}
	release(f);
}

static void what_all_did_together_is_found_without_a_window(void **state)
{
	const struct causes none = {};
	struct fleet *f = all_ill(1.5, 600, 840);
	struct fleet_question q = fleet_question_default(f);
	struct fleet_answer a;

	assert_int_equal(fleet_why_answer(&q, &none, NULL, &a), 0);
	assert_int_equal(a.common, 6);
	assert_true(a.found_window && llabs(a.asked.from - 600 * STEP) <= 2 * STEP && llabs(a.asked.to - 840 * STEP) <= 2 * STEP);
	assert_non_null(strstr(a.summary, "All servers, 6 of them, at once: requests is unusually high"));
	fleet_answer_free(&a);
	release(f);
}

RUN_TESTS(cmocka_unit_test(a_plateau_within_a_cycle_is_known_by_its_edges), cmocka_unit_test(rows_that_are_rare_make_a_symptom_unusual_after_a_start), cmocka_unit_test(what_all_did_together_is_found_without_a_window), cmocka_unit_test(what_all_do_together_is_an_incident_where_none_stands_out), cmocka_unit_test(a_window_that_begins_too_late_is_judged_from_before_it), cmocka_unit_test(a_ramp_began_where_it_left_normal), cmocka_unit_test(an_incident_began_when_it_began_however_late_the_window), cmocka_unit_test(a_window_in_which_nothing_is_unusual_is_calm), cmocka_unit_test(a_ramp_is_named_before_a_server_of_another_level), cmocka_unit_test(one_of_many_differs_from_its_peers), cmocka_unit_test(a_rise_as_large_as_the_daily_cycle_is_found_by_peers), cmocka_unit_test(a_fault_may_last_for_most_of_the_data),
	  cmocka_unit_test(a_cycle_that_all_have_is_nothing), cmocka_unit_test(a_server_that_is_ill_all_the_time_differs_from_its_peers),
	  cmocka_unit_test(a_window_in_a_server_that_is_ill_all_the_time_accuses_no_other))
