/* Where a series lies far from normal, when neither peers nor a window tell what is normal: one server, row by row. */
#include "lib/data/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fleet/analysis/fleet-scan.h"
#include "fleet/model/intake.h"
#include "lib/data/clock.h"

#define MINUTE (60 * NS_PER_SEC)
#define ROWS   540

/* -1 .. 1, the same in each run. */
static double noise(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(*state >> 11) / (double)(1ull << 52) - 1;
}

/* A fault from row `from` until row `to`; none where they are the same. */
struct fault {
	unsigned from, to, counters;
	double by;
	bool bursts; /* each fifth row alone */
};

/* One server of six counters with noise that remembers, `cycle` of a daily cycle of `day` rows, and a gap of ten hours before row `gap`. */
static struct fleet *make(unsigned rows, const struct fault *fault, double cycle, unsigned day, unsigned gap)
{
	const struct counter_info gauge = {.kind = FLEET_GAUGE};
	struct intake *in = intake_new();
	int server = intake_server(in, "alone");
	struct fleet *f;

	for (unsigned c = 0; c < 6; c++) {
		char name[8];
		uint64_t state = c + 1;
		double memory = 0;
		int counter;

		snprintf(name, sizeof(name), "c%u", c);
		counter = intake_counter(in, name, &gauge);
		for (unsigned t = 0; t < rows; t++) {
			double x = 1000 * (1 + cycle * sin(2 * M_PI * t / day));

			memory = 0.8 * memory + noise(&state) + noise(&state);
			x += 20 * memory;
			if (c < fault->counters && t >= fault->from && t < fault->to && (!fault->bursts || t % 5 == 0))
				x += fault->by;
			assert_int_equal(intake_put(in, server, counter, (t + (gap && t >= gap ? 600 : 0)) * (86400 / day) * NS_PER_SEC, x), 0);
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

static void assert_found(const struct fault *fault, unsigned rows, double cycle, unsigned day, unsigned close)
{
	struct fleet *f = make(rows, fault, cycle, day, 0);
	int64_t row = 86400 / day * NS_PER_SEC;
	struct scan_found found;

	assert_int_equal(fleet_scan_server(f, 0, NULL, &found), 0);
	assert_true(found.counter < (int)fault->counters);
	assert_true(llabs(found.span.from - fault->from * row) <= close * row);
	assert_true(llabs(found.span.to - fault->to * row) <= close * row);
	release(f);
}

static void a_step_of_a_third_of_the_data_is_found(void **state)
{
	assert_found(&(struct fault){330, 510, 3, 150, false}, ROWS, 0, 1440, 8);
}

static void a_short_fault_is_found(void **state)
{
	assert_found(&(struct fault){330, 336, 2, 400, false}, ROWS, 0, 1440, 1);
}

static void a_rise_below_the_daily_cycle_is_found_in_four_days(void **state)
{
	assert_found(&(struct fault){3 * 288 + 50, 3 * 288 + 80, 2, 300, false}, 4 * 288, 0.4, 288, 4);
}

static double score_of(const struct fault *fault, unsigned rows)
{
	struct fleet *f = make(rows, fault, 0, 1440, 0);
	struct scan_found found;

	assert_int_equal(fleet_scan_server(f, 0, NULL, &found), 0);
	release(f);
	return found.score;
}

static void noise_and_one_odd_value_stay_low_and_bursts_do_not(void **state)
{
	assert_true(score_of(&(struct fault){}, ROWS) < 3);
	assert_true(score_of(&(struct fault){200, 201, 1, 100000, false}, ROWS) < 3);
	assert_true(score_of(&(struct fault){200, 300, 4, 500, true}, ROWS) > 3);
}

/* The rows after a gap are an interval of their own. */
static void no_stretch_reaches_over_a_gap(void **state)
{
	struct fleet *f = make(ROWS, &(struct fault){300, 306, 2, 400, false}, 0, 1440, 300);
	struct scan_found found;

	assert_int_equal(fleet_scan_server(f, 0, NULL, &found), 0);
	assert_int_equal(found.span.from, 900 * MINUTE);
	release(f);
}

static void each_counter_tells_its_stretches(void **state)
{
	struct fleet *f = make(ROWS, &(struct fault){330, 340, 2, 400, false}, 0, 1440, 0);
	struct scan_list found = {};
	const bool skip[6] = {true};

	assert_int_equal(fleet_scan_each(f, 0, skip, 8, 16, &found), 0);
	assert_int_equal(found.list.n, 1); /* of the other one */
	assert_int_equal(found.list.v[0].counter, 1);
	VEC_FREE(found.list);
	release(f);
}

static void too_few_rows_tell_nothing(void **state)
{
	struct fleet *f = make(5, &(struct fault){}, 0, 1440, 0);
	struct scan_found found;

	assert_int_equal(fleet_scan_server(f, 0, NULL, &found), -ENODATA);
	release(f);
}

RUN_TESTS(cmocka_unit_test(a_step_of_a_third_of_the_data_is_found), cmocka_unit_test(a_short_fault_is_found),
	  cmocka_unit_test(a_rise_below_the_daily_cycle_is_found_in_four_days), cmocka_unit_test(noise_and_one_odd_value_stay_low_and_bursts_do_not),
	  cmocka_unit_test(no_stretch_reaches_over_a_gap), cmocka_unit_test(each_counter_tells_its_stretches), cmocka_unit_test(too_few_rows_tell_nothing))
