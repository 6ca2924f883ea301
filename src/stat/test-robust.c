#include "base/test.h"

#include <math.h>

#include "stat/robust.h"

static void quantiles_are_linear_between_neighbours(void **state)
{
	double v[] = {4, NAN, 1, 3, 2};
	size_t n = sort_values(v, 5);

	(void)state;
	assert_int_equal(n, 4);
	assert_true(quantile_sorted(v, n, 0) == 1 && quantile_sorted(v, n, 1) == 4);
	assert_true(quantile_sorted(v, n, 0.5) == 2.5);
	assert_true(fabs(quantile_sorted(v, n, 0.25) - 1.75) < 1e-12);
	assert_true(fabs(iqr_scale_sorted(v, n) - 1.5 / 1.349) < 1e-12);
	assert_true(isnan(quantile_sorted(v, 0, 0.5)));
}

RUN_TESTS(cmocka_unit_test(quantiles_are_linear_between_neighbours))
