#include "lib/data/test.h"

#include <math.h>

#include "lib/data/clock.h"
#include "machine/judge/older.h"

#define HOUR (3600 * NS_PER_SEC)

/* An hour in which `members` processes did `usual` in all but `share` of the seconds, and `high` in those. */
static struct older_stretch hour(int n, double members, double usual, double high, double share)
{
	struct older_stretch s = {
		.from = n * HOUR, .to = (n + 1) * HOUR, .seconds = 3600, .members = members};

	s.of_member.n = members * 3600;
	s.of_member.mean = usual + share * (high - usual);
	s.of_member.variance = share * (1 - share) * (high - usual) * (high - usual);
	for (size_t i = 0; i < QUANTILES; i++)
		s.of_member.q[i] =
			quantile_rank[i] > 1 - share || (share > 0 && i == QUANTILES - 1) ? high : usual;
	return s;
}

static void members_add_up(void **state)
{
	struct older_stretch s = hour(0, 5, 10, 10, 0);
	struct weighted_value points[STRETCH_POINTS];
	double weight = 0;

	older_stretch_points(&s, true, 60, points);
	for (size_t i = 0; i < STRETCH_POINTS; i++) {
		assert_true(points[i].value == 50);
		weight += points[i].weight;
	}
	assert_true(fabs(weight - 60) < 1e-9); /* an hour is sixty blocks of a minute */
}

static void a_counters_blocks_stray_less_than_its_seconds(void **state)
{
	struct older_stretch s = hour(0, 1, 0, 100, 0.5);
	struct weighted_value counter[STRETCH_POINTS], gauge[STRETCH_POINTS];

	older_stretch_points(&s, true, 100, counter);
	older_stretch_points(&s, false, 100, gauge);
	assert_true(counter[0].value < 50 && counter[3].value > 50);
	assert_true(fabs((gauge[2].value - 50) - 10 * (counter[2].value - 50)) < 1e-9);
	assert_true(gauge[0].value >= 0 && gauge[3].value <= 100);
}

static void a_nightly_job_is_one_episode_a_night(void **state)
{
	struct older_stretch s[48];

	for (int i = 0; i < 48; i++)
		s[i] = i % 24 == 2 || i % 24 == 3 ? hour(i, 1, 1, 100, 0.5) : hour(i, 1, 1, 1, 0);
	assert_int_equal(older_stretch_episodes(s, 48, 70, 60), 2);
	assert_int_equal(older_stretch_episodes(s, 48, 150, 60), 0);
	assert_int_equal(older_stretch_episodes(s, 48, 0.7, 60), 1); /* always */
	assert_true(older_stretch_blocks_above(&s[2], 70, 60) > 10);
	assert_true(older_stretch_blocks_above(&s[5], 70, 60) == 0);
	assert_true(older_stretch_highest(&s[2]) == 100);
}

static void many_that_do_a_little_reach_it_together(void **state)
{
	struct older_stretch s = hour(0, 40, 2, 2, 0);

	assert_true(older_stretch_blocks_above(&s, 70, 60) == 60);
	assert_true(older_stretch_blocks_above(&s, 90, 60) == 0);
}

static void a_weight_counts_as_so_many_values(void **state)
{
	const struct weighted_value v[] = {{1, 1}, {2, 8}, {3, 1}};

	assert_true(robust_quantile_weighted(v, 3, 0.5) == 2);
	assert_true(robust_quantile_weighted(v, 3, 0) == 1 && robust_quantile_weighted(v, 3, 1) == 3);
	assert_true(robust_quantile_weighted(v, 3, 0.25) > 1 && robust_quantile_weighted(v, 3, 0.25) < 2);
	assert_true(isnan(robust_quantile_weighted(v, 0, 0.5)));
}

RUN_TESTS(cmocka_unit_test(members_add_up), cmocka_unit_test(a_counters_blocks_stray_less_than_its_seconds),
	  cmocka_unit_test(a_nightly_job_is_one_episode_a_night),
	  cmocka_unit_test(many_that_do_a_little_reach_it_together),
	  cmocka_unit_test(a_weight_counts_as_so_many_values))
