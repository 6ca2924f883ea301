#include "spans/compare/groups.h"

#include <math.h>

#include "lib/data/test.h"

static struct version_group group(int64_t first, double count, double mean, double sd)
{
	return (struct version_group){.first_seen = first, .count = count, .effective = count, .mean = mean, .variance = sd * sd};
}

static void sdiag_against_the_older_ones_by_hand(void **state)
{
	struct version_group g[] = {group(30, 9, 14, 1), group(40, 9, 20, 1), group(10, 9, 10, 1), group(20, 9, 12, 1)};
	struct group_judgement j[4];

	assert_int_equal(groups_judge(g, 4, &(struct group_options){GROUPS_SDIAG_OLDER, 0}, j), 0);
	/* older means 10 12 14: mean 12, standard deviation 2 */
	assert_true(j[1].normal == 12 && fabs(j[1].z - 4) < 1e-12);
	assert_true(j[1].flags & GROUP_OUTLIER);
	/* 14 after 10 and 12: (14 - 11) / sqrt 2 */
	assert_true(fabs(j[0].z - 3 / M_SQRT2) < 1e-12 && !(j[0].flags & GROUP_OUTLIER));
	/* one older group has no spread, the first none at all */
	assert_true(isnan(j[3].z) && j[3].flags & GROUP_NO_REFERENCE && j[3].normal == 10);
	assert_true(isnan(j[2].z) && j[2].flags & GROUP_NO_REFERENCE);
}

static void pooled_z_needs_eleven_groups_to_exceed_three(void **state)
{
	struct version_group g[11];
	struct group_judgement j[11];
	struct group_options pooled = {GROUPS_SDIAG_POOLED, 0};

	for (int i = 0; i < 11; i++)
		g[i] = group(i, 100, i < 10 ? 10 : 1e6, 1);
	assert_int_equal(groups_judge(g, 11, &pooled, j), 0);
	assert_true(fabs(j[10].z - 10 / sqrt(11)) < 1e-9 && j[10].flags & GROUP_OUTLIER);
	assert_int_equal(groups_judge(g + 1, 10, &pooled, j), 0);
	assert_true(fabs(j[9].z - 9 / sqrt(10)) < 1e-9);
	assert_true(j[9].flags & GROUP_CANNOT_EXCEED && !(j[9].flags & GROUP_OUTLIER));
}

static void two_groups_are_compared_the_younger_with_the_older(void **state)
{
	struct version_group g[] = {group(2, 400, 115, 20), group(1, 400, 100, 20)};
	struct group_judgement j[2];

	assert_int_equal(groups_judge(g, 2, &(struct group_options){}, j), 0);
	assert_true(j[0].flags == GROUP_OUTLIER && fabs(j[0].effect - 0.15) < 1e-12);
	/* (115 - 100) / sqrt(2 x 400 / 399) */
	assert_true(fabs(j[0].z - 15 / sqrt(800.0 / 399)) < 1e-9);
	assert_true(j[0].q < 1e-20 && fabs(j[0].excess - 7.5) < 1e-12);
	assert_true(j[1].flags == GROUP_NO_REFERENCE);
}

static void of_two_that_were_there_from_the_beginning_the_slower_one_is_told(void **state)
{
	struct version_group g[] = {group(2, 400, 100, 20), group(1, 400, 115, 20)};
	struct group_judgement j[2];

	g[0].last_seen = g[1].last_seen = 1000;
	assert_int_equal(groups_judge(g, 2, &(struct group_options){}, j), 0);
	assert_true(j[1].flags == GROUP_OUTLIER && fabs(j[1].effect - 0.15) < 1e-12);
	assert_true(j[0].flags == (GROUP_OUTLIER | GROUP_FASTER));
	g[0].first_seen = 500; /* the faster one came later: it is an improvement */
	assert_int_equal(groups_judge(g, 2, &(struct group_options){}, j), 0);
	assert_true(j[1].flags == GROUP_NO_REFERENCE && j[0].flags == (GROUP_OUTLIER | GROUP_FASTER));
}

static void three_groups_name_the_one_that_differs(void **state)
{
	struct version_group g[] = {group(1, 5000, 100, 30), group(2, 5000, 101, 30), group(3, 500, 118, 30)};
	struct group_judgement j[3];

	assert_int_equal(groups_judge(g, 3, &(struct group_options){}, j), 0);
	assert_true(j[2].flags == GROUP_OUTLIER);
	assert_true(fabs(j[2].normal - 100.5) < 1e-12);
	assert_false(j[0].flags & GROUP_OUTLIER);
	assert_false(j[1].flags & GROUP_OUTLIER);
}

static void a_sure_but_small_effect_is_no_outlier(void **state)
{
	struct version_group g[] = {group(1, 1e7, 100, 30), group(2, 1e7, 101, 30)};
	struct group_judgement j[2];

	assert_int_equal(groups_judge(g, 2, &(struct group_options){}, j), 0);
	assert_true(j[1].q < 1e-9 && j[1].flags == 0);
	assert_int_equal(groups_judge(g, 2, &(struct group_options){.least = 0.005}, j), 0);
	assert_true(j[1].flags == GROUP_OUTLIER);
}

static void twelve_groups_that_all_differ_a_little_have_one_outlier(void **state)
{
	struct version_group g[12];
	struct group_judgement j[12];

	for (int i = 0; i < 12; i++)
		g[i] = group(i, 10000, i == 7 ? 130 : 100 + i % 5, 40);
	assert_int_equal(groups_judge(g, 12, &(struct group_options){}, j), 0);
	for (int i = 0; i < 12; i++)
		assert_true(!(j[i].flags & GROUP_OUTLIER) == (i != 7));
}

static void many_buckets_are_corrected_together(void **state)
{
	struct group_judgement j[40];

	for (int i = 0; i < 40; i++)
		j[i] = (struct group_judgement){.p = 0.04, .effect = 0.2, .flags = GROUP_OUTLIER};
	j[39].p = 0.0001;
	for (int i = 0; i < 39; i++)
		j[i].p = 0.04 + 0.02 * i;
	assert_int_equal(groups_correct(j, 40, &(struct group_options){}), 0);
	assert_true(j[39].flags & GROUP_OUTLIER && fabs(j[39].q - 0.004) < 1e-12);
	assert_false(j[0].flags & GROUP_OUTLIER);
}

static void requests_by_hand(void **state)
{
	struct version_group g[] = {group(1, 10, 10, 0), group(2, 10, 14, 0)}; /* mean 12, standard deviation 2 */

	assert_true(fabs(group_request_z(20, g, 2) - 4) < 1e-12);
}

static void a_version_that_ran_at_night_is_not_fast(void **state)
{
	/* days take 20, nights 10; the second group is a tenth slower in both, and ran by night */
	double counts[] = {90, 10, 10, 90}, sums[] = {90 * 20, 10 * 10, 10 * 22, 90 * 11};
	struct version_group g[] = {group(1, 100, 19, 1), group(2, 100, 12.1, 1)};

	assert_int_equal(groups_level(g, 2, counts, sums, 2), 0);
	assert_true(fabs(g[1].mean / g[0].mean - 1.1) < 1e-9);
	/* over both halves, of 100 requests each: 15 and 16.5 scaled so that the whole stays what it was */
	assert_true(fabs(g[0].mean + g[1].mean - 31.5) < 0.1);
}

RUN_TESTS(cmocka_unit_test(a_version_that_ran_at_night_is_not_fast), cmocka_unit_test(sdiag_against_the_older_ones_by_hand),
	  cmocka_unit_test(pooled_z_needs_eleven_groups_to_exceed_three),
	  cmocka_unit_test(two_groups_are_compared_the_younger_with_the_older),
	  cmocka_unit_test(of_two_that_were_there_from_the_beginning_the_slower_one_is_told),
	  cmocka_unit_test(three_groups_name_the_one_that_differs), cmocka_unit_test(a_sure_but_small_effect_is_no_outlier),
	  cmocka_unit_test(twelve_groups_that_all_differ_a_little_have_one_outlier),
	  cmocka_unit_test(many_buckets_are_corrected_together), cmocka_unit_test(requests_by_hand))
