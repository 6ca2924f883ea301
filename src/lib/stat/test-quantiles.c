#include "lib/data/test.h"

#include <math.h>
#include <stdlib.h>

#include "lib/stat/quantiles.h"

#define PARTS 7
#define EACH  500

static double draw(unsigned part, unsigned i)
{
	double u = (double)random() / (double)RAND_MAX;

	if (part % 3 == 0)
		return i % 4 ? 0 : exp(8 * u); /* mostly nothing, then a heavy tail */
	return part % 3 == 1 ? 1000 + 10 * u * part : -5 + 200 * u * u;
}

static struct distribution summarise(const double *values, size_t n)
{
	struct weighted w[PARTS * EACH], room[PARTS * EACH];
	struct distribution d = {.n = (double)n};

	for (size_t i = 0; i < n; i++) {
		w[i] = (struct weighted){quantiles_code(values[i]), 1};
		d.mean += values[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++)
		d.variance += (values[i] - d.mean) * (values[i] - d.mean) / (double)n;
	quantiles_of(w, room, n, d.q);
	return d;
}

static void codes_keep_order_and_eight_per_mille(void **state)
{
	double last = -1e30;

	for (double x = -1e12; x < -1e-12; x *= 0.9) {
		assert_true(fabs(quantiles_value(quantiles_code(x)) / x - 1) <= 1.0 / 128);
		assert_true(quantiles_value(quantiles_code(x)) >= last);
		last = quantiles_value(quantiles_code(x));
	}
	assert_true(quantiles_value(quantiles_code(0)) == 0);
	for (double x = 1e-12; x < 1e18; x *= 1.003) {
		assert_true(fabs(quantiles_value(quantiles_code(x)) / x - 1) <= 1.0 / 128);
		assert_true(quantiles_value(quantiles_code(x)) >= last);
		last = quantiles_value(quantiles_code(x));
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* However they are sorted: the k-th of n is the least with a rank of k / n. */
static void few_and_many_are_sorted(void **state)
{
	double values[100], q[QUANTILES];

	for (size_t n = 1; n <= 100; n++) {
		struct weighted w[100], room[100];

		for (size_t i = 0; i < n; i++) {
			values[i] = quantiles_value(quantiles_code(draw((unsigned)n, (unsigned)i)));
			w[i] = (struct weighted){quantiles_code(values[i]), 1};
		}
		qsort(values, n, sizeof(values[0]), ascending);
		quantiles_of(w, room, n, q);
		for (size_t i = 0; i < QUANTILES; i++) {
			size_t reached = (size_t)ceil(quantile_rank[i] * (double)n);

			assert_true(q[i] == values[reached ? reached - 1 : 0]);
		}
	}
}

static void weights_count(void **state)
{
	struct weighted w[] = {{quantiles_code(8), 1},
			       {quantiles_code(0), 98},
			       {quantiles_code(2), 1},
			       {quantiles_code(-4), 0}},
			room[4];
	double q[QUANTILES];

	quantiles_of(w, room, 4, q);
	assert_true(q[0] == 0 && q[3] == 0 && q[4] == 2 && q[5] == 8);
}

static void a_jump_is_a_jump(void **state)
{
	struct distribution d = {.n = 1, .q = {0, 0, 0, 4, 8, 9}};

	assert_true(distribution_cdf(&d, -1, 0) == 0);
	assert_true(distribution_cdf(&d, 0, 1) == 0 && distribution_cdf(&d, 0, 0) == 0.5);
	assert_true(distribution_cdf(&d, 2, 0) == 0.625 && distribution_cdf(&d, 9, 0) == 1);
}

/* The share of all values at or below a merged quantile lies within the stated error of its rank. */
static void merged_ranks_lie_within_their_error(void **state)
{
	srandom(3);
	for (unsigned round = 0; round < 50; round++) {
		double all[PARTS * EACH];
		struct distribution parts[PARTS], merged, whole;

		for (unsigned p = 0; p < PARTS; p++) {
			for (unsigned i = 0; i < EACH; i++)
				all[p * EACH + i] = quantiles_value(quantiles_code(draw(p + round, i)));
			parts[p] = summarise(all + p * EACH, EACH);
		}
		assert_int_equal(distribution_merge(parts, PARTS, &merged), 0);
		whole = summarise(all, PARTS * EACH);
		assert_true(fabs(merged.mean - whole.mean) < 1e-6 * fabs(whole.mean) + 1e-9);
		assert_true(fabs(merged.variance - whole.variance) < 1e-6 * whole.variance);
		assert_true(merged.q[0] == whole.q[0] && merged.q[5] == whole.q[5]);
		assert_true(merged.error < 0.25);
		for (unsigned k = 0; k < QUANTILES; k++) {
			double below = 0, upto = 0;

			for (unsigned i = 0; i < PARTS * EACH; i++) {
				below += all[i] < merged.q[k];
				upto += all[i] <= merged.q[k];
			}
			assert_true(below / (PARTS * EACH) <= quantile_rank[k] + merged.error + 0.005);
			assert_true(upto / (PARTS * EACH) >= quantile_rank[k] - merged.error - 0.005);
		}
	}
}

static void one_part_stays_what_it_is(void **state)
{
	struct distribution d = {.n = 600, .mean = 3, .variance = 2, .q = {0, 1, 3, 4, 9, 20}}, merged;

	assert_int_equal(distribution_merge(&d, 1, &merged), 0);
	for (unsigned k = 0; k < QUANTILES; k++)
		assert_true(fabs(merged.q[k] - d.q[k]) < 1e-9);
	assert_true(merged.mean == 3 && merged.variance == 2);
}

RUN_TESTS(cmocka_unit_test(codes_keep_order_and_eight_per_mille), cmocka_unit_test(few_and_many_are_sorted),
	  cmocka_unit_test(weights_count),
	  cmocka_unit_test(a_jump_is_a_jump), cmocka_unit_test(merged_ranks_lie_within_their_error),
	  cmocka_unit_test(one_part_stays_what_it_is))
