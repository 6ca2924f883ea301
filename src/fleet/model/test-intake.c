#include "lib/data/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/model/intake.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"

static const struct counter_info gauge = {.kind = FLEET_GAUGE}, sum = {.kind = FLEET_COUNTER};

/* A second apart, on one server. */
static void put_values(struct intake *in, int counter, size_t n, const double *values)
{
	const int server = intake_server(in, "a");

	for (size_t i = 0; i < n; i++)
		assert_int_equal(intake_put(in, server, counter, (int64_t)i * NS_PER_SEC, values[i]), 0);
}

static struct fleet *finish(struct intake *in)
{
	struct fleet *f;

	assert_int_equal(intake_finish(in, &f), 0);
	return f;
}

static void release(struct intake *in, struct fleet *f)
{
	intake_free(in);
	fleet_free(f);
	free(f);
}

static void values_beyond_float32_are_bad(void **state)
{
	struct intake *in = intake_new();
	struct fleet *f;

	put_values(in, intake_counter(in, "c", &gauge), 6, (const double[]){1, 2, 3e38, 1e39, -1e39, 4});
	assert_int_equal(intake_count(in).bad, 2);
	assert_int_equal(intake_count(in).values, 4);
	f = finish(in);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(isnan(f->servers.v[0].column[0][i]), i == 3 || i == 4);
	assert_true(f->servers.v[0].column[0][2] == 3e38F);
	assert_int_equal(f->remarks.n, 1);
	release(in, f);
}

static void infinite_rates_are_bad(void **state)
{
	struct intake *in = intake_new();
	const int counter = intake_counter(in, "c", &sum), server = intake_server(in, "a");
	struct fleet *f;

	for (int i = 0; i < 3; i++)
		assert_int_equal(intake_put(in, server, counter, i, i * 1.5e38), 0); /* a nanosecond apart */
	f = finish(in);
	assert_int_equal(intake_count(in).bad, 2);
	for (size_t i = 0; i < 3; i++)
		assert_true(isnan(f->servers.v[0].column[0][i]));
	release(in, f);
}

static void times_whose_distance_is_beyond_64_bits_are_bad(void **state)
{
	const int64_t times[] = {INT64_MIN, -8900000000000000000, -FLEET_TIME_MOST, 0, FLEET_TIME_MOST, 8900000000000000000, INT64_MAX};
	struct intake *in = intake_new();
	const int counter = intake_counter(in, "c", &gauge), server = intake_server(in, "a");
	struct fleet *f;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		assert_int_equal(intake_put(in, server, counter, times[i], 1), 0);
	assert_int_equal(intake_count(in).bad, 4);
	assert_non_null(strstr(intake_bad_rows(in, &n)[0], "a: a time before 1843 or after 2096"));
	f = finish(in);
	assert_int_equal(f->servers.v[0].n, 3);
	assert_int_equal(f->interval, FLEET_INTERVAL_MOST);
	release(in, f);
}

static int put_own_counter(struct intake *in, int i, bool many)
{
	char name[16];
	int server, counter;

	snprintf(name, sizeof(name), "s%d", i);
	server = intake_server(in, name);
	snprintf(name, sizeof(name), "c%d", i);
	counter = server < 0 ? server : intake_counter(in, name, &gauge);
	for (int t = 0; t < (many ? 20 : 1) && counter >= 0; t++)
		assert_int_equal(intake_put(in, server, counter, t, 1), 0);
	return counter;
}

/* Gigabytes for places without values. */
static void servers_with_a_counter_of_their_own_are_refused(void **state)
{
	struct intake *in = intake_new(), *all = intake_new();
	int i = 0;

	while (i < 20000 && put_own_counter(in, i, false) >= 0)
		i++;
	assert_true(i > 4000 && i < 5000);
	assert_non_null(strstr(intake_refusal(in), "--match"));
	intake_take_refusal(all, in);
	assert_non_null(intake_refusal(all));
	assert_null(intake_refusal(in));
	intake_free(all);
	intake_free(in);
}

static void sparse_servers_with_many_values_are_taken(void **state)
{
	struct intake *in = intake_new();

	for (int i = 0; i < 4300; i++)
		assert_true(put_own_counter(in, i, true) >= 0);
	assert_null(intake_refusal(in));
	intake_free(in);
}

RUN_TESTS(cmocka_unit_test(times_whose_distance_is_beyond_64_bits_are_bad),
	  cmocka_unit_test(servers_with_a_counter_of_their_own_are_refused), cmocka_unit_test(sparse_servers_with_many_values_are_taken),
	  cmocka_unit_test(values_beyond_float32_are_bad), cmocka_unit_test(infinite_rates_are_bad))
