#include "lib/stat/sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

static uint64_t seed = 88172645463325252u;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* 1 ns to hours, heavy tails: the exponent is uniform. */
static uint64_t wild(void)
{
	return next() >> (next() % 64);
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double exact(const uint64_t *sorted, size_t n, double q)
{
	size_t at = 0;

	while (at + 1 < n && (double)(3 * (at + 1)) < q * (double)(3 * n))
		at++;
	return (double)sorted[at];
}

static void quantiles_are_within_the_stated_error(void **state)
{
	enum { N = 20000 };
	static uint64_t values[N];
	struct sketch *s = sketch_new();

	for (size_t i = 0; i < N; i++) {
		values[i] = wild();
		assert_int_equal(sketch_add(s, values[i], 3), 0);
	}
	qsort(values, N, sizeof(values[0]), ascending);
	for (int i = 0; i <= 1000; i++) {
		double q = i / 1000.0, is = exact(values, N, q);

		assert_true(fabs(sketch_quantile(s, q) - is) <= SKETCH_ERROR * is * (1 + 1e-12));
	}
	sketch_free(s);
}

static void small_values_and_ends_are_exact(void **state)
{
	struct sketch *s = sketch_new();

	assert_true(isnan(sketch_quantile(s, 0.5)));
	for (uint64_t v = 0; v < 100; v++)
		sketch_add(s, v, 1);
	assert_true(sketch_quantile(s, 0.5) == 49);
	sketch_add(s, UINT64_MAX, 1);
	sketch_add(s, 1000003, 1);
	assert_true(sketch_quantile(s, 1) == (double)UINT64_MAX);
	assert_true(sketch_quantile(s, 0) == 0);
	sketch_free(s);
}

static void parts_merged_in_any_order_are_the_whole_bit_for_bit(void **state)
{
	enum { PARTS = 7 };
	static const int orders[][PARTS] = {{0, 1, 2, 3, 4, 5, 6}, {6, 2, 4, 0, 5, 1, 3}, {3, 1, 0, 6, 5, 4, 2}};
	struct sketch *parts[PARTS], *whole = sketch_new();
	_cleanup_str_ struct str expected = {};

	for (int i = 0; i < PARTS; i++)
		parts[i] = sketch_new();
	for (int i = 0; i < 5000; i++) {
		uint64_t value = wild(), weight = 1 + next() % 100000;

		sketch_add(whole, value, weight);
		sketch_add(parts[next() % PARTS], value, weight);
	}
	assert_int_equal(sketch_write(whole, &expected), 0);
	for (size_t o = 0; o < 3; o++) {
		struct sketch *merged = sketch_new();
		_cleanup_str_ struct str bytes = {};

		for (int i = 0; i < PARTS; i++)
			assert_int_equal(sketch_merge(merged, parts[orders[o][i]]), 0);
		assert_int_equal(sketch_write(merged, &bytes), 0);
		assert_int_equal(bytes.len, expected.len);
		assert_memory_equal(bytes.data, expected.data, bytes.len);
		sketch_free(merged);
	}
	for (int i = 0; i < PARTS; i++)
		sketch_free(parts[i]);
	sketch_free(whole);
}

static void what_was_written_is_read(void **state)
{
	struct sketch *s = sketch_new(), *back = NULL;
	_cleanup_str_ struct str bytes = {}, again = {};
	struct reader r;

	for (int i = 0; i < 300; i++)
		sketch_add(s, wild(), 65536);
	sketch_write(s, &bytes);
	r = (struct reader){(const uint8_t *)bytes.data, (const uint8_t *)bytes.data + bytes.len, false};
	assert_int_equal(sketch_read(&r, &back), 0);
	assert_ptr_equal(r.at, r.end);
	sketch_write(back, &again);
	assert_int_equal(again.len, bytes.len);
	assert_memory_equal(again.data, bytes.data, bytes.len);
	sketch_free(back);
	sketch_free(s);
}

static void damaged_bytes_are_refused_or_a_sound_sketch(void **state)
{
	struct sketch *s = sketch_new();
	_cleanup_str_ struct str bytes = {};
	int refused = 0;

	for (int i = 0; i < 40; i++)
		sketch_add(s, wild(), 1 + next() % 9);
	sketch_write(s, &bytes);
	for (int i = 0; i < 20000; i++) {
		size_t n = next() % (bytes.len + 1);
		uint8_t *copy = malloc(n + 1);
		struct reader r = {copy, copy + n, false};
		struct sketch *back = NULL;

		memcpy(copy, bytes.data, n);
		if (n)
			copy[next() % n] ^= (uint8_t)(1 << next() % 8);
		if (sketch_read(&r, &back) == 0)
			(void)sketch_quantile(back, 0.5);
		else
			refused++;
		sketch_free(back);
		free(copy);
	}
	assert_true(refused > 10000);
	sketch_free(s);
}

static void superiority_by_hand(void **state)
{
	struct sketch *a = sketch_new(), *b = sketch_new();

	sketch_add(a, 1, 1);
	sketch_add(a, 2, 1);
	sketch_add(b, 2, 1);
	sketch_add(b, 3, 1);
	/* pairs: 2>1, 2=2 (half), 3>1, 3>2 */
	assert_true(sketch_superiority(a, b) == 3.5 / 4);
	assert_true(sketch_superiority(b, a) == 0.5 / 4);
	sketch_free(a);
	sketch_free(b);
}

RUN_TESTS(cmocka_unit_test(quantiles_are_within_the_stated_error), cmocka_unit_test(small_values_and_ends_are_exact),
	  cmocka_unit_test(parts_merged_in_any_order_are_the_whole_bit_for_bit), cmocka_unit_test(what_was_written_is_read),
	  cmocka_unit_test(damaged_bytes_are_refused_or_a_sound_sketch),
	  cmocka_unit_test(superiority_by_hand))
