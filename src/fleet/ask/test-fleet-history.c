/* The unusual times in a day of six servers with a daily cycle, of which two are ill at different times. */
#include "lib/data/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fleet/ask/fleet-history.h"
#include "fleet/model/intake.h"
#include "lib/data/clock.h"

#define STEP (300 * NS_PER_SEC)
#define ROWS 576

struct fault {
	unsigned server, from, to;
	double by;
};

/* The second one lasts longer, and moves two counters. */
static const struct fault of_two[] = {{2, 200, 206, 0.8}, {4, 400, 440, 0.6}};

static double wobble(unsigned series, unsigned row)
{
	unsigned x = (series * 7919 + row) * 2654435761u;

	return (double)((x ^ x >> 15) % 2001) / 1000 - 1;
}

/* This one befalls all of them. */
#define ALL 6
static const struct fault common[] = {{ALL, 300, 320, 1.5}};

static double factor(const struct fault *list, size_t n, unsigned server, unsigned row)
{
	for (size_t i = 0; i < n; i++)
		if ((list[i].server == server || list[i].server == ALL) && row >= list[i].from && row < list[i].to)
			return 1 + list[i].by;
	return 1;
}

static struct fleet *six_with(const struct fault *faults, size_t n_faults)
{
	const struct counter_info gauge = {.kind = FLEET_GAUGE};
	struct intake *in = intake_new();
	struct fleet *f;

	for (unsigned s = 0; s < 6; s++) {
		int server, requests = intake_counter(in, "requests", &gauge), latency = intake_counter(in, "latency", &gauge);
		char name[8];

		snprintf(name, sizeof(name), "web-%u", s);
		server = intake_server(in, name);
		for (unsigned t = 0; t < ROWS; t++) {
			const double x = 1000 * (1 + 0.3 * sin(2 * M_PI * t / 288)) * (1 + 0.03 * wobble(s, t)),
				     y = 40 * (1 + 0.05 * wobble(s + 10, t)) * (s == 4 ? factor(faults, n_faults, s, t) : 1);

			assert_int_equal(intake_put(in, server, requests, t * STEP, x * factor(faults, n_faults, s, t)), 0);
			assert_int_equal(intake_put(in, server, latency, t * STEP, y), 0);
		}
	}
	assert_int_equal(intake_finish(in, &f), 0);
	intake_free(in);
	return f;
}

static struct fleet *six(size_t n_faults)
{
	return six_with(of_two, n_faults);
}

static void is_of(const struct fleet_episode *e, const struct fleet *f, const char *server, const struct fault *fault)
{
	assert_int_equal(e->first.server, fleet_find_server(f, server));
	assert_true(llabs(e->first.span.from - fault->from * STEP) <= 2 * STEP);
	assert_true(llabs(e->first.span.to - fault->to * STEP) <= 2 * STEP);
	assert_true(e->value > 1.3 * e->normal || e->first.counter == fleet_find_counter(f, "requests"));
}

static void each_fault_is_one_episode(void **state)
{
	struct fleet *f = six(2);
	const struct fleet_question q = fleet_question_default(f);
	struct fleet_history h;

	assert_int_equal(fleet_history_make(&q, &h), 0);
	assert_int_equal(h.list.n, 2);
	is_of(&h.list.v[0], f, "web-4", &of_two[1]);
	assert_int_equal(h.list.v[0].n_members, 1); /* its other counter */
	assert_int_equal(h.list.v[0].n_servers, 1);
	is_of(&h.list.v[1], f, "web-2", &of_two[0]);
	fleet_history_free(&h);
	fleet_free(f);
	free(f);
}

static void a_window_chooses_what_lies_in_it(void **state)
{
	struct fleet *f = six(2);
	struct fleet_question q = fleet_question_default(f);
	struct fleet_history h;

	q.window = (struct fleet_span){100 * STEP, 300 * STEP};
	assert_int_equal(fleet_history_make(&q, &h), 0);
	assert_int_equal(h.list.n, 1);
	is_of(&h.list.v[0], f, "web-2", &of_two[0]);
	fleet_history_free(&h);
	fleet_free(f);
	free(f);
}

static void what_befalls_all_servers_is_one_episode(void **state)
{
	struct fleet *f = six_with(common, 1);
	struct fleet_question q = fleet_question_default(f);
	struct fleet_history h;

	assert_int_equal(fleet_history_make(&q, &h), 0);
	assert_int_equal(h.list.n, 1);
	assert_true(llabs(h.list.v[0].first.span.from - common[0].from * STEP) <= 2 * STEP);
	assert_int_equal(h.list.v[0].n_servers, 6);
	assert_int_equal(h.list.v[0].n_members, 6); /* the other servers' requests, and web-4's latency */
	fleet_history_free(&h);
	q.window.to = 290 * STEP;
	assert_int_equal(fleet_history_make(&q, &h), 0);
	assert_int_equal(h.list.n, 0);
	fleet_history_free(&h);
	fleet_free(f);
	free(f);
}

static void a_cycle_that_all_have_is_nothing(void **state)
{
	struct fleet *f = six(0);
	const struct fleet_question q = fleet_question_default(f);
	struct fleet_history h;

	assert_int_equal(fleet_history_make(&q, &h), 0);
	assert_int_equal(h.list.n, 0);
	fleet_history_free(&h);
	fleet_free(f);
	free(f);
}

/* One row suffices for a value that was never there before. Another one like it is nothing new. */
static void a_value_that_was_never_there_is_listed_once(void **state)
{
	static const struct fault twice[] = {{2, 300, 301, 19}, {2, 450, 451, 19}};
	struct fleet *f = six_with(twice, 2);
	const struct fleet_question q = fleet_question_default(f);
	struct fleet_history h;

	assert_int_equal(fleet_history_make(&q, &h), 0);
	assert_int_equal(h.list.n, 1);
	is_of(&h.list.v[0], f, "web-2", &twice[0]);
	assert_true(h.list.v[0].first.record);
	fleet_history_free(&h);
	fleet_free(f);
	free(f);
}

RUN_TESTS(cmocka_unit_test(a_value_that_was_never_there_is_listed_once), cmocka_unit_test(each_fault_is_one_episode), cmocka_unit_test(a_window_chooses_what_lies_in_it),
	  cmocka_unit_test(what_befalls_all_servers_is_one_episode), cmocka_unit_test(a_cycle_that_all_have_is_nothing))
