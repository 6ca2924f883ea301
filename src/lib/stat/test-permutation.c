#include "lib/data/test.h"

#include <errno.h>
#include <math.h>

#include "lib/stat/permutation.h"

static void separated_groups_of_four_have_one_in_seventy(void **state)
{
	const double a[] = {8, 5, 7, 6}, b[] = {1, 4, 2, 3};

	assert_true(fabs(permutation_p(a, 4, b, 4) - 1.0 / 70) < 1e-12);
	assert_true(permutation_p(b, 4, a, 4) == 1); /* the other way round everything is at least as far */
}

static void a_small_case_by_hand(void **state)
{
	/* of {1,2,4,5} the sums of two: 3 5 6 6 7 9; {2,5} has 7: two of six are >= 7 */
	const double a[] = {5, 2}, b[] = {1, 4};

	assert_true(fabs(permutation_p(a, 2, b, 2) - 2.0 / 6) < 1e-12);
	/* ties count as far: {1,1,1,2}: sums 2 2 3 2 3 3; {1,2} has 3: three of six */
	assert_true(fabs(permutation_p((double[]){1, 2}, 2, (double[]){1, 1}, 2) - 0.5) < 1e-12);
}

static void one_value_on_the_wrong_side(void **state)
{
	/* 1..8 with 4 and 5 exchanged: sum 8+7+6+4 = 25 against 26; only {8,7,6,5} is further: 2 of 70 */
	const double a[] = {8, 7, 6, 4}, b[] = {1, 2, 3, 5};

	assert_true(fabs(permutation_p(a, 4, b, 4) - 2.0 / 70) < 1e-12);
}

static void nothing_to_compare_is_no_number(void **state)
{
	const double a[17] = {1, NAN};

	assert_true(isnan(permutation_p(a, 0, a, 4)));
	assert_true(isnan(permutation_p(a, 9, a, 8)));
	assert_true(isnan(permutation_p(a, 2, a, 2)));
}

static void the_shift_is_the_median_of_all_differences(void **state)
{
	/* a = 10 12, b = 1 2 4: differences 6 8 8 9 10 11; median 8.5 */
	struct shift s;

	assert_int_equal(shift_find((double[]){10, 12}, 2, (double[]){1, 2, 4}, 3, 0.5, &s), 0);
	assert_true(s.estimate == 8.5);
	/* U of 2 and 3: 1 1 2 2 2 1 1 of 10. Without the ends 1 - 2/10 = .8; one more off: 1 - 4/10 = .6,
	 * another .2 */
	assert_true(s.low == 8 && s.high == 10 && fabs(s.coverage - 0.6) < 1e-12);
}

static void the_interval_of_four_and_four(void **state)
{
	/* U = 0 in one of 70, U <= 1 in two: 1 - 2/70 = .971 with nothing cut, 1 - 4/70 = .943 with one cut
	 * at each end */
	const double a[] = {11, 12, 13, 14}, b[] = {0, 0, 0, 10};
	struct shift s;

	assert_int_equal(shift_find(a, 4, b, 4, 0.97, &s), 0);
	assert_true(s.low == 1 && s.high == 14 && fabs(s.coverage - (1 - 2.0 / 70)) < 1e-12);
	assert_int_equal(shift_find(a, 4, b, 4, 0.94, &s), 0);
	assert_true(s.low == 2 && s.high == 14 && fabs(s.coverage - (1 - 4.0 / 70)) < 1e-12);
	assert_int_equal(shift_find(a, 4, b, 4, 0.9999, &s),
			 0); /* is not available of so few: the most there is */
	assert_true(s.low == 1 && fabs(s.coverage - (1 - 2.0 / 70)) < 1e-12);
	assert_int_equal(shift_find(a, 0, b, 4, 0.94, &s), -EDOM);
}

static unsigned long long count_up(void *data)
{
	unsigned long long *x = data;

	*x = *x * 6364136223846793005ull + 1442695040888963407ull;
	return *x >> 33;
}

static void every_choice_comes_and_none_is_preferred(void **state)
{
	unsigned long long seed = 1;
	int seen[256] = {0}, kinds = 0;

	for (int i = 0; i < 70000; i++) {
		unsigned char flags[8];
		int mask = 0, held = 0;

		permutation_choose(8, 4, count_up, &seed, flags);
		for (int k = 0; k < 8; k++) {
			mask |= flags[k] << k;
			held += flags[k];
		}
		assert_int_equal(held, 4);
		seen[mask]++;
	}
	for (int i = 0; i < 256; i++) {
		kinds += seen[i] > 0;
		assert_true(!seen[i] || (seen[i] > 800 && seen[i] < 1200)); /* 1000 expected, spread 32 */
	}
	assert_int_equal(kinds, 70);
}

RUN_TESTS(cmocka_unit_test(separated_groups_of_four_have_one_in_seventy),
	  cmocka_unit_test(a_small_case_by_hand), cmocka_unit_test(one_value_on_the_wrong_side),
	  cmocka_unit_test(nothing_to_compare_is_no_number),
	  cmocka_unit_test(the_shift_is_the_median_of_all_differences),
	  cmocka_unit_test(the_interval_of_four_and_four),
	  cmocka_unit_test(every_choice_comes_and_none_is_preferred))
