#include "lib/data/test.h"

#include <math.h>

#include "lib/stat/rank.h"

static void mann_whitney_equals_the_textbook(void **state)
{
	/* no ties: U = 3 of 5 x 4; mean 10, variance 20 * 10 / 12; z = 6.5 / 4.0825 */
	double a[] = {1, 2, 3, 5, 6}, b[] = {4, 7, 8, 9};
	double c[] = {7, 7, 7}, d[] = {7, 7};
	double superiority, p = rank_mann_whitney(a, 5, b, 4, &superiority);

	assert_true(fabs(superiority - 18.0 / 20) < 1e-12);
	assert_true(fabs(p - erfc(7.5 / sqrt(20.0 * 10 / 12) / M_SQRT2)) < 1e-12);
	assert_true(rank_mann_whitney(c, 3, d, 2, &superiority) == 1 && superiority == 0.5);
	assert_true(isnan(rank_mann_whitney(a, 0, b, 4, NULL)));
}

static void ties_shrink_the_variance(void **state)
{
	/* a = 1 1 2, b = 2 3: ties of 2 and 2: sum t^3 - t = 12; variance = 6/12 (6 - 12/20) = 2.7 */
	double a[] = {1, 1, 2}, b[] = {2, 3};

	assert_true(fabs(rank_mann_whitney(a, 3, b, 2, NULL) - erfc(2.0 / sqrt(2.7) / M_SQRT2)) < 1e-12);
}

static void false_discovery_rates_step_up(void **state)
{
	double p[] = {0.01, 0.04, 0.03, 0.005, 0.5};

	assert_int_equal(rank_benjamini_hochberg(p, 5), 0);
	assert_true(fabs(p[3] - 0.025) < 1e-12 && fabs(p[0] - 0.025) < 1e-12);
	assert_true(fabs(p[2] - 0.05) < 1e-12 && fabs(p[1] - 0.05) < 1e-12 && fabs(p[4] - 0.5) < 1e-12);
}

RUN_TESTS(cmocka_unit_test(mann_whitney_equals_the_textbook), cmocka_unit_test(ties_shrink_the_variance),
	  cmocka_unit_test(false_discovery_rates_step_up))
