#include "lib/data/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stat/robust.h"

static void quantiles_are_linear_between_neighbours(void **state)
{
	double v[] = {4, NAN, 1, 3, 2};
	size_t n = robust_sort(v, 5);

	assert_int_equal(n, 4);
	assert_true(robust_quantile(v, n, 0) == 1 && robust_quantile(v, n, 1) == 4);
	assert_true(robust_quantile(v, n, 0.5) == 2.5);
	assert_true(fabs(robust_quantile(v, n, 0.25) - 1.75) < 1e-12);
	assert_true(fabs(robust_scale(v, n) - 1.5 / 1.349) < 1e-12);
	assert_true(isnan(robust_quantile(v, 0, 0.5)));
}

/* Many are sorted by their digits, few by comparing. */
static void many_values_are_sorted_as_few_are(void **state)
{
	static double sorted[3000], compared[3000];
	size_t n = sizeof(sorted) / sizeof(sorted[0]), numbers;

	srandom(7);
	for (size_t i = 0; i < n; i++) {
		double size = exp((double)(random() % 200) - 100);

		sorted[i] = i % 7 == 0 ? NAN : i % 5 == 0 ? 0 : i % 3 == 0 ? -size : size;
	}
	sorted[1] = INFINITY;
	sorted[2] = -INFINITY;
	memcpy(compared, sorted, sizeof(sorted));
	qsort(compared, n, sizeof(compared[0]), robust_compare);
	numbers = robust_sort(sorted, n);
	assert_int_equal(numbers, n - (n + 6) / 7);
	for (size_t i = 0; i < n; i++)
		assert_true(i < numbers ? sorted[i] == compared[i] : isnan(sorted[i]));
}

RUN_TESTS(cmocka_unit_test(quantiles_are_linear_between_neighbours), cmocka_unit_test(many_values_are_sorted_as_few_are))
