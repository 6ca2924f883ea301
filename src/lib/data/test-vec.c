#include "lib/data/vec.h"

#include "lib/data/test.h"

static void grows_and_keeps_what_it_has(void **state)
{
	VEC(int) v = {};

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(VEC_PUSH(v, 3 * i), 0);
	assert_int_equal(v.n, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(v.v[i], 3 * i);
	VEC_FREE(v);
	assert_int_equal(v.n, 0);
}

/* Against a look at each, for every length up to 20 and every value between and beyond. */
static void the_first_where_it_holds_is_found(void **state)
{
	int v[20];

	(void)state;
	for (int i = 0; i < 20; i++)
		v[i] = 2 * i + 1 - i % 2; /* pairs that differ by one, and gaps */
	for (size_t n = 0; n <= 20; n++) {
		for (int x = -1; x <= 42; x++) {
			size_t expected = 0;

			while (expected < n && v[expected] < x)
				expected++;
			assert_int_equal(FIRST_WHERE(i, n, v[i] >= x), expected);
		}
	}
}

RUN_TESTS(cmocka_unit_test(grows_and_keeps_what_it_has), cmocka_unit_test(the_first_where_it_holds_is_found))
