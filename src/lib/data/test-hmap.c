#include "lib/data/test.h"

#include <string.h>

#include "lib/data/hmap.h"

/* Keys that collide often, put and removed in a scrambled order, checked against an array. */
static void keeps_exactly_what_was_put(void **state)
{
	static char values[1000];
	char present[1000] = {};
	struct hmap m = {};
	uint32_t random = 1;

	for (int step = 0; step < 200000; step++) {
		uint32_t k;

		random = random * 1664525 + 1013904223;
		k = (random >> 8) % 1000;
		if (random >> 31) {
			assert_int_equal(hmap_put(&m, k & 7, k, &values[k]), 0);
			present[k] = 1;
		} else {
			assert_ptr_equal(hmap_remove(&m, k & 7, k), present[k] ? &values[k] : NULL);
			present[k] = 0;
		}
	}
	for (uint32_t k = 0; k < 1000; k++)
		assert_ptr_equal(hmap_get(&m, k & 7, k), present[k] ? &values[k] : NULL);
	hmap_free(&m);
}

/* The longest row of slots in use: that is how far a search walks. */
static size_t longest_row(const struct hmap *m)
{
	size_t row = 0, longest = 0;

	for (size_t i = 0; i < m->size; i++) {
		row = m->slots[i].value ? row + 1 : 0;
		longest = row > longest ? row : longest;
	}
	return longest;
}

/* Multiples of what a multiplication by the constant of earlier versions turns into multiples of 2^32: all began at one slot. */
static void keys_that_are_chosen_do_not_meet(void **state)
{
	enum { N = 40000 };
	uint64_t inverse = 1;
	struct hmap m = {};

	for (int i = 0; i < 6; i++)
		inverse *= 2 - 0xd6e8feb86659fd93ull * inverse;
	for (uint64_t i = 0; i < N; i++) {
		uint64_t h = i << 32 | i; /* its halves cancel each other */

		assert_int_equal(hmap_put(&m, h * inverse, 0, &m), 0);
	}
	assert_int_equal(m.n, N);
	assert_in_range(longest_row(&m), 1, 1000);
	hmap_free(&m);
}

static void hashes_are_of_all_bytes(void **state)
{
	uint8_t bytes[24] = {};

	for (size_t n = 0; n < sizeof(bytes); n++) {
		uint64_t zeros = hmap_hash_bytes(bytes, n);

		assert_true(zeros != hmap_hash_bytes(bytes, n + 1));
		for (size_t i = 0; i < n; i++) {
			bytes[i] = 1;
			assert_true(zeros != hmap_hash_bytes(bytes, n));
			bytes[i] = 0;
		}
	}
}

static void what_a_map_keeps_is_freed_with_it(void **state)
{
	struct hmap m = {};
	char *text = strdup("kept");

	assert_null(hmap_keep(&m, 1, 0, NULL));
	assert_null(hmap_get(&m, 1, 0));
	assert_ptr_equal(hmap_keep(&m, 1, 0, text), text);
	assert_ptr_equal(hmap_get(&m, 1, 0), text);
	hmap_free_values(&m);
	assert_null(hmap_get(&m, 1, 0));
}

RUN_TESTS(cmocka_unit_test(what_a_map_keeps_is_freed_with_it), cmocka_unit_test(keeps_exactly_what_was_put), cmocka_unit_test(keys_that_are_chosen_do_not_meet),
	  cmocka_unit_test(hashes_are_of_all_bytes))
