#include "lib/data/test.h"

#include <math.h>
#include <stdlib.h>

#include "lib/stat/columns.h"
#include "lib/stat/correlate.h"
#include "lib/stat/robust.h"

#define assert_close(a, b, within) assert_true(fabs((a) - (b)) <= (within))

static void moments_and_medians_by_hand(void **state)
{
	const float a[] = {1, 2, NAN, 4}, b[] = {9};
	const struct piece pieces[] = {{a, 4}, {b, 1}};
	struct select_room room = {};
	struct column_moments m;

	column_moments_of(pieces, 2, &m);
	assert_int_equal(m.n, 4);
	assert_close(m.mean, 4, 1e-12);
	assert_close(m.sd, sqrt((9 + 4 + 0 + 25) / 4.0), 1e-12);
	assert_close((double)m.min, 1, 0);
	assert_close((double)m.max, 9, 0);
	assert_close(columns_median(pieces, 2, &room), 3, 0); /* the mean of the two middles */
	assert_close(columns_median(pieces, 1, &room), 2, 0);
	assert_close(columns_quantile(pieces, 2, 0.25, &room), 1.75, 1e-12);
	assert_true(isnan(columns_median(pieces, 0, &room)));
	select_room_free(&room);
}

/* The quick way and sorting agree, whatever the size, the ties and the gaps. */
static void quantiles_equal_those_of_sorting(void **state)
{
	static const size_t sizes[] = {1, 2, 17, 511, 512, 513, 1440, 70001};
	struct select_room room = {};

	srand(1);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (int kind = 0; kind < 4; kind++) {
			size_t n = sizes[s];
			float *v = malloc(n * sizeof(*v));
			double *sorted = malloc(n * sizeof(*sorted));
			struct piece pieces[2] = {{v, n / 3}, {v + n / 3, n - n / 3}};
			struct column_moments m;
			size_t numbers;

			for (size_t i = 0; i < n; i++) {
				float x = (float)rand() / (float)RAND_MAX;

				v[i] = kind == 0 ? x : kind == 1 ? (float)(rand() % 3) : kind == 2 && rand() % 4 == 0 ? NAN : expf(20 * x);
				sorted[i] = (double)v[i];
			}
			numbers = robust_sort(sorted, n);
			column_moments_of(pieces, 2, &m);
			assert_int_equal(m.n, numbers);
			for (double q = 0; q <= 1; q += 0.05) {
				double want = robust_quantile(sorted, numbers, q), got = columns_quantile(pieces, 2, q, &room);

				assert_true(numbers ? fabs(got - want) <= 1e-9 * fabs(want) : isnan(got));
			}
			free(v);
			free(sorted);
		}
	select_room_free(&room);
}

static void correlation_by_hand(void **state)
{
	const float x[] = {1, 2, 3, 4, 5}, y[] = {2, 1, 4, 3, 5}, gaps[] = {1, NAN, 3, 4, 5};
	float up[] = {1, 8, 27, 64, 125};
	uint32_t order[5];

	assert_close(correlate_pearson(x, y, 5).r, 0.8, 1e-9);
	assert_int_equal(correlate_pearson(gaps, y, 5).n, 4);
	assert_true(correlate_pearson(x, up, 5).r < 0.99);
	correlate_rank(up, 5, order);
	assert_close(correlate_pearson(x, up, 5).r, 1, 1e-9);
	assert_true(isnan(correlate_pearson(x, (const float[]){7, 7, 7, 7, 7}, 5).r));
}

static void a_leader_is_found_with_its_lag(void **state)
{
	float x[200], y[200], room[400];
	struct lagged l;

	srand(2);
	for (int i = 0; i < 200; i++)
		y[i] = (float)rand() / (float)RAND_MAX;
	for (int i = 0; i < 200; i++)
		x[i] = i >= 3 ? y[i - 3] : 0.5F;
	l = correlate_lagged(x, y, 200, 5);
	assert_int_equal(l.lag, 3);
	assert_true(l.r > 0.99);
	assert_true(correlate_shift_p(x, y, 200, 5, 99, l.r, room) <= 0.01 + 1e-9);
}

/* Two slow waves of nearly one frequency correlate highly by nature: the normal p would call that sure. */
static void surrogates_know_autocorrelation(void **state)
{
	float x[300], y[300], room[600];
	struct correlation c;

	for (int i = 0; i < 300; i++) {
		x[i] = sinf((float)i / 40);
		y[i] = sinf((float)i / 40 + 0.3F);
	}
	c = correlate_pearson(x, y, 300);
	assert_true(c.r > 0.9);
	assert_true(correlate_shift_p(x, y, 300, 20, 199, c.r, room) > 0.01);
}

RUN_TESTS(cmocka_unit_test(moments_and_medians_by_hand), cmocka_unit_test(quantiles_equal_those_of_sorting),
	  cmocka_unit_test(correlation_by_hand), cmocka_unit_test(a_leader_is_found_with_its_lag),
	  cmocka_unit_test(surrogates_know_autocorrelation))
