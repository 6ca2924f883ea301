#include "lib/stat/change.h"

#include <math.h>

#include "lib/data/test.h"

/* 100 and a little, and `level` in [from, to). */
static void make(struct window *w, size_t n, size_t from, size_t to, double level)
{
	static const double wobble[] = {0, 1.1, -0.7, 0.4, -1.2, 0.9, -0.3};

	for (size_t i = 0; i < n; i++)
		w[i] = (struct window){.count = 500, .mean = (i >= from && i < to ? level : 100) + wobble[i % 7], .variance = 400};
}

static void a_step_is_found_where_it_is(void **state)
{
	struct window w[40];
	struct change_point c;

	make(w, 40, 27, 40, 115);
	assert_true(change_find(w, 40, 0, 0.01, &c));
	assert_int_equal(c.at, 27);
	assert_int_equal(c.until, 40);
	assert_true(fabs(c.before - 100) < 1 && fabs(c.during - 115) < 1 && c.z > 5);
}

static void what_came_back_has_an_end(void **state)
{
	struct window w[40];
	struct change_point c;

	make(w, 40, 12, 21, 90);
	assert_true(change_find(w, 40, 0, 0.01, &c));
	assert_int_equal(c.at, 12);
	assert_int_equal(c.until, 21);
	assert_true(c.z < -5);
}

static void quiet_series_and_short_ones_have_none(void **state)
{
	struct window w[40];
	struct change_point c;

	make(w, 40, 0, 0, 0);
	assert_false(change_find(w, 40, 0, 0.05, &c));
	assert_false(change_find(w, 3, 0, 0.05, &c));
	assert_true(isnan(c.z));
}

static void windows_in_which_nothing_happened_do_not_count(void **state)
{
	struct window w[40];
	struct change_point c;

	make(w, 40, 20, 40, 120);
	for (size_t i = 3; i < 40; i += 5)
		w[i] = (struct window){};
	assert_true(change_find(w, 40, 0, 0.01, &c));
	assert_int_equal(c.at, 20);
}

static uint64_t seed = 7;

static double noise(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(seed >> 11) * 0x1p-53;
	}
	return sum;
}

static void chance_finds_no_more_than_its_level(void **state)
{
	int found = 0;

	for (int run = 0; run < 300; run++) {
		struct window w[20];
		struct change_point c;

		for (size_t i = 0; i < 20; i++)
			w[i] = (struct window){.count = 100, .mean = 50 + noise(), .variance = 100};
		found += change_find(w, 20, 0, 0.01, &c);
	}
	assert_true(found <= 9); /* 3 expected; more than 9 has p < .002 */
}

/* Two days of half hours: 100, by a fifth higher in the afternoon than at night, and something at random. */
static void make_days(struct window *w, size_t n, size_t from, size_t to, double more)
{
	for (size_t i = 0; i < n; i++) {
		double angle = 2 * M_PI * (double)i / 48, cycle = 10 * sin(angle) + 3 * cos(2 * angle);

		w[i] = (struct window){.count = 400, .mean = 100 + cycle + (i >= from && i < to ? more : 0) + noise(), .variance = 400};
	}
}

static void a_day_with_its_cycle_has_no_change(void **state)
{
	int found = 0;

	for (int run = 0; run < 100; run++) {
		struct window w[96];
		struct change_point c;

		make_days(w, 96, 0, 0, 0);
		found += change_find(w, 96, 48, 0.01, &c);
	}
	assert_true(found <= 5); /* 1 expected; more than 5 has p < .001 */
}

/* Six hours: the steepest part of the cycle, then its bend. */
static void a_quarter_of_a_day_has_no_change_but_a_step_in_it_is_one(void **state)
{
	int found[2] = {};

	for (int run = 0; run < 200; run++) {
		struct window w[60];
		struct change_point c;

		for (size_t i = 0; i < 60; i++) {
			double step = run % 2 && i >= 20 ? 8 : 0;

			w[i] = (struct window){.count = 40, .mean = 100 + 10 * sin(2 * M_PI * (double)i / 240) + step + 2 * noise(), .variance = 160};
		}
		found[run % 2] += change_find(w, 60, 240, 0.01, &c);
	}
	assert_true(found[0] <= 5); /* 1 expected; more than 5 has p < .001 */
	assert_true(found[1] >= 95);
}

static void a_change_within_a_cycle_is_found_and_measured_without_it(void **state)
{
	struct window w[96];
	struct change_point c;

	make_days(w, 96, 62, 96, 8);
	assert_true(change_find(w, 96, 48, 0.01, &c));
	assert_in_range(c.at, 60, 64);
	assert_int_equal(c.until, 96);
	assert_true(fabs(c.during - c.before - 8) < 2);
}

/* Nothing came back: [2, 30) is as good as [30, 96) but for two windows, and lower. */
static void what_began_is_not_told_as_what_ended(void **state)
{
	for (int run = 0; run < 60; run++) {
		struct window w[96];
		struct change_point c;
		size_t from = 20 + (size_t)run;

		make_days(w, 96, from, 96, 8);
		assert_true(change_find(w, 96, 48, 0.01, &c));
		assert_int_equal(c.until, 96);
		assert_true(c.during > c.before);
		assert_in_range(c.at, from - 4, from + 4);
	}
}

RUN_TESTS(cmocka_unit_test(what_began_is_not_told_as_what_ended),
	  cmocka_unit_test(a_day_with_its_cycle_has_no_change),
		cmocka_unit_test(a_quarter_of_a_day_has_no_change_but_a_step_in_it_is_one),
	  cmocka_unit_test(a_change_within_a_cycle_is_found_and_measured_without_it),
	  cmocka_unit_test(a_step_is_found_where_it_is), cmocka_unit_test(what_came_back_has_an_end),
	  cmocka_unit_test(quiet_series_and_short_ones_have_none),
	  cmocka_unit_test(windows_in_which_nothing_happened_do_not_count),
	  cmocka_unit_test(chance_finds_no_more_than_its_level))
