/* Scores of made-up minutes: three days, or a few hours of them. */
#include "lib/data/test.h"

#include <string.h>

#include "machine/judge/anomaly.h"

#define DAY  1440
#define DAYS 4
#define N    (DAYS * DAY)

static bool recorded[N];
static struct minute_score machine[N], programs[N];

static int set_up(void **state)
{
	for (uint32_t i = 0; i < N; i++) {
		recorded[i] = true;
		machine[i] = programs[i] = (struct minute_score){.series = HISTORY_NONE};
	}
	return 0;
}

static void put(struct minute_series *s, uint32_t from, uint32_t to, float value)
{
	for (uint32_t i = from; i < to; i++)
		assert_int_equal(VEC_PUSH(s->values, (struct minute_value){i, value}), 0);
}

static void a_burst_is_one_episode(void **state)
{
	struct minute_series s = {.floor = 0.1f};
	struct anomaly_episodes e = {};

	put(&s, 1000, 1002, 3);
	put(&s, 1003, 1010, 2);
	assert_int_equal(anomaly_judge(&s, 0, recorded, N, programs), 0);
	assert_int_equal(anomaly_find_episodes(machine, programs, N, &e), 0);
	assert_int_equal(e.list.n, 1);
	assert_int_equal(e.list.v[0].from, 1000);
	assert_int_equal(e.list.v[0].to, 1010);
	assert_int_equal(e.list.v[0].peak, 1000);
	assert_true(programs[1000].score > 29 && programs[1000].score < 31);
	VEC_FREE(e.list);
	VEC_FREE(s.values);
}

static void what_is_always_so_is_usual(void **state)
{
	struct minute_series s = {.floor = 0.1f};

	put(&s, 0, 2000, 5);
	put(&s, 2000, 2001, 5.3f);
	put(&s, 2001, N, 5);
	assert_int_equal(anomaly_judge(&s, 0, recorded, N, programs), 0);
	assert_true(s.median > 4.9f);
	assert_true(programs[2000].score < ANOMALY_ODD);
	assert_true(programs[1999].score < 0.1f);
	VEC_FREE(s.values);
}

static void what_happens_every_day_is_usual(void **state)
{
	struct minute_series daily = {.floor = 0.1f}, once = {.floor = 0.1f};

	for (uint32_t day = 0; day < DAYS; day++) /* a backup, at about three in the night */
		put(&daily, day * DAY + 180 + 5 * day, day * DAY + 190 + 5 * day, 8);
	put(&once, 2 * DAY + 180, 2 * DAY + 190, 8);
	assert_int_equal(anomaly_judge(&daily, 0, recorded, N, programs), 0);
	assert_int_equal(programs[2 * DAY + 192].series, HISTORY_NONE);
	assert_int_equal(anomaly_judge(&once, 1, recorded, N, programs), 0);
	assert_int_equal(programs[2 * DAY + 182].series, 1);
	VEC_FREE(daily.values);
	VEC_FREE(once.values);
}

/* Two days of which one has it tell nothing: it may be new. */
static void one_other_day_makes_nothing_usual(void **state)
{
	struct minute_series s = {.floor = 0.1f};

	put(&s, 180, 190, 8);
	put(&s, DAY + 180, DAY + 190, 8);
	assert_int_equal(anomaly_judge(&s, 0, recorded, 2 * DAY, programs), 0);
	assert_int_equal(programs[185].series, 0);
	VEC_FREE(s.values);
}

static void the_worst_episode_comes_first(void **state)
{
	struct minute_series s = {.floor = 0.1f}, pressure = {.floor = 0.05f};
	struct anomaly_episodes e = {};

	put(&s, 100, 105, 1);
	put(&pressure, 3000, 3020, 0.9f);
	assert_int_equal(anomaly_judge(&s, 0, recorded, N, programs), 0);
	assert_int_equal(anomaly_judge(&pressure, 1, recorded, N, machine), 0);
	assert_int_equal(anomaly_find_episodes(machine, programs, N, &e), 0);
	assert_int_equal(e.list.n, 2);
	assert_int_equal(e.list.v[0].from, 3000);
	assert_int_equal(machine[e.list.v[0].peak].series, 1);
	VEC_FREE(e.list);
	VEC_FREE(s.values);
	VEC_FREE(pressure.values);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

RUN_TESTS(TEST(a_burst_is_one_episode), TEST(what_is_always_so_is_usual), TEST(what_happens_every_day_is_usual),
	  TEST(one_other_day_makes_nothing_usual), TEST(the_worst_episode_comes_first))
