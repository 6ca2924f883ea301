#include "lib/stat/welch.h"

#include <math.h>

#include "lib/data/test.h"

static void welch_by_hand(void **state)
{
	/* 1 2 3 and 4 6 8 */
	struct sample_moments a = {3, 2, 2.0 / 3}, b = {3, 6, 8.0 / 3};
	double df, t = welch_t(&a, &b, &df);

	assert_true(fabs(t - 4 / sqrt(5.0 / 3)) < 1e-12);
	assert_true(fabs(df - 25.0 / 9 / (17.0 / 18)) < 1e-12);
}

static void what_cannot_be_compared_is_no_number(void **state)
{
	struct sample_moments one = {1, 2, 0}, still = {5, 2, 0}, still_too = {5, 3, 0};

	assert_true(isnan(welch_t(&one, &still, NULL)));
	assert_true(isnan(welch_t(&still, &still, NULL)));
	assert_true(isinf(welch_t(&still, &still_too, NULL)));
	assert_true(welch_student_p(INFINITY, 8) == 0);
	assert_true(isnan(welch_student_p(NAN, 8)));
}

static void student_equals_the_tables(void **state)
{
	static const struct {
		double t, df, p;
	} table[] = {{12.7062, 1, 0.05}, {2.22814, 10, 0.05}, {3.16927, 10, 0.01}, {1.95996, 1e9, 0.05}, {0, 4, 1}, {4.58688, 10, 0.001}};

	for (size_t i = 0; i < 6; i++)
		assert_true(fabs(welch_student_p(table[i].t, table[i].df) - table[i].p) < 2e-6);
}

static void mann_whitney_of_shares_equals_the_normal_approximation(void **state)
{
	/* U of 20 and 20: variance of U / (n m) is (n + m + 1) / (12 n m) = 41 / 4800 */
	assert_true(fabs(welch_mann_whitney_p(0.7, 20, 20) - erfc(0.2 / sqrt(41.0 / 4800) / M_SQRT2)) <
		    1e-12);
	assert_true(welch_mann_whitney_p(0.5, 9, 9) == 1);
}

static void binomial_by_hand(void **state)
{
	/* two or three heads of three coins; of ten dice three sixes or more */
	assert_true(fabs(welch_binomial_p(2, 3, .5) - .5) < 1e-12);
	assert_true(fabs(welch_binomial_p(3, 10, 1. / 6) - .2247732021) < 1e-9);
	assert_true(fabs(welch_binomial_p(3, 3, .1) - .001) < 1e-12);
	assert_true(welch_binomial_p(0, 10, .3) == 1 && welch_binomial_p(11, 10, .3) == 0);
}

static void median_and_mad_by_hand(void **state)
{
	double others[] = {4, 1, 3, 2, 100}; /* median 3, deviations 1 2 0 1 97: MAD 1 */

	assert_true(fabs(welch_mad_z(10, others, 5, 0) - 7 / 1.4826) < 1e-12);
	assert_true(welch_mad_z(4, (double[]){1, 2, 3}, 3, 10) == 0.2);
}

RUN_TESTS(cmocka_unit_test(welch_by_hand), cmocka_unit_test(what_cannot_be_compared_is_no_number),
	  cmocka_unit_test(student_equals_the_tables),
	  cmocka_unit_test(mann_whitney_of_shares_equals_the_normal_approximation),
	  cmocka_unit_test(binomial_by_hand), cmocka_unit_test(median_and_mad_by_hand))
