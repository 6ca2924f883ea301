#include "lib/data/vec.h"

#include <string.h>

#include "lib/data/test.h"

static void grows_and_keeps_what_it_has(void **state)
{
	VEC(int) v = {};

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

static void lists_are_walked_searched_and_released(void **state)
{
	VEC(struct {
		char *text;
	}) v = {};
	size_t seen = 0;

	VEC_EACH(x, v)
		seen++;
	assert_true(seen == 0 && !VEC_FIND(x, v, true) && !ANY_WHERE(i, v.n, true));
	for (int i = 0; i < 20; i++) {
		assert_int_equal(VEC_GROW(v), 0);
		v.v[v.n++].text = strdup(i == 7 || i == 9 ? "seven" : "other");
	}
	VEC_EACH(x, v)
		seen += x == &v.v[seen];
	assert_int_equal(seen, 20);
	assert_true(VEC_FIND(x, v, strcmp(x->text, "seven") == 0) == &v.v[7]);
	assert_true(ANY_WHERE(i, v.n, v.v[i].text[0] == 's') && !ANY_WHERE(i, v.n, v.v[i].text[0] == 'x'));
	VEC_FREE_EACH(v, free(each->text));
	assert_true(!v.v && v.n == 0);
}

static void what_a_rare_moment_took_is_given_back(void **state)
{
	VEC(int) v = {};

	for (int i = 0; i < 100; i++)
		assert_int_equal(VEC_PUSH(v, i), 0);
	VEC_GIVE_BACK(v, 64); /* of one that is in use nothing */
	assert_int_equal(v.n, 100);
	v.n = 0;
	VEC_GIVE_BACK(v, 128);
	assert_int_equal(v.allocated, 128);
	VEC_GIVE_BACK(v, 127);
	assert_null(v.v);
	assert_int_equal(VEC_PUSH(v, 1), 0);
	VEC_FREE(v);
}

RUN_TESTS(cmocka_unit_test(grows_and_keeps_what_it_has), cmocka_unit_test(what_a_rare_moment_took_is_given_back),
	  cmocka_unit_test(the_first_where_it_holds_is_found), cmocka_unit_test(lists_are_walked_searched_and_released))
