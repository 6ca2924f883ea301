#include "stat/change.h"

#include <math.h>

#include "base/test.h"

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
	struct change c;

	(void)state;
	make(w, 40, 27, 40, 115);
	assert_true(change_find(w, 40, 0.01, &c));
	assert_int_equal(c.at, 27);
	assert_int_equal(c.until, 40);
	assert_true(fabs(c.before - 100) < 1 && fabs(c.during - 115) < 1 && c.z > 5);
}

static void what_came_back_has_an_end(void **state)
{
	struct window w[40];
	struct change c;

	(void)state;
	make(w, 40, 12, 21, 90);
	assert_true(change_find(w, 40, 0.01, &c));
	assert_int_equal(c.at, 12);
	assert_int_equal(c.until, 21);
	assert_true(c.z < -5);
}

static void quiet_series_and_short_ones_have_none(void **state)
{
	struct window w[40];
	struct change c;

	(void)state;
	make(w, 40, 0, 0, 0);
	assert_false(change_find(w, 40, 0.05, &c));
	assert_false(change_find(w, 3, 0.05, &c));
	assert_true(isnan(c.z));
}

static void windows_in_which_nothing_happened_do_not_count(void **state)
{
	struct window w[40];
	struct change c;

	(void)state;
	make(w, 40, 20, 40, 120);
	for (size_t i = 3; i < 40; i += 5)
		w[i] = (struct window){};
	assert_true(change_find(w, 40, 0.01, &c));
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

	(void)state;
	for (int run = 0; run < 300; run++) {
		struct window w[20];
		struct change c;

		for (size_t i = 0; i < 20; i++)
			w[i] = (struct window){.count = 100, .mean = 50 + noise(), .variance = 100};
		found += change_find(w, 20, 0.01, &c);
	}
	assert_true(found <= 9); /* 3 expected; more than 9 has p < .002 */
}

RUN_TESTS(cmocka_unit_test(a_step_is_found_where_it_is), cmocka_unit_test(what_came_back_has_an_end),
	  cmocka_unit_test(quiet_series_and_short_ones_have_none),
	  cmocka_unit_test(windows_in_which_nothing_happened_do_not_count),
	  cmocka_unit_test(chance_finds_no_more_than_its_level))
