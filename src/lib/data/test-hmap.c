#include "lib/data/test.h"

#include "lib/data/hmap.h"

/* Keys that collide often, put and removed in a scrambled order, checked against an array. */
static void keeps_exactly_what_was_put(void **state)
{
	static char values[1000];
	char present[1000] = {};
	struct hmap m = {};
	uint32_t random = 1;

	(void)state;
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

RUN_TESTS(cmocka_unit_test(keeps_exactly_what_was_put))
