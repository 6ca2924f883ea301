#include "lib/data/order.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lib/data/test.h"
#include "lib/data/vec.h"

struct item {
	int cost;
	const char *name;
};

ORDER(by_cost, struct item, DESCENDING(cost) ?: strcmp(a->name, b->name))
ORDER_OF_POINTERS(by_name, struct item, strcmp(a->name, b->name))
ORDER_IN(by_rank, unsigned, int, CMP(context[*a], context[*b]))

static void the_first_difference_decides(void **state)
{
	struct {
		VEC(struct item) list;
	} x = {};

	VEC_SORT(x.list, by_cost); /* of nothing */
	assert_int_equal(VEC_PUSH(x.list, (struct item){1, "b"}), 0);
	assert_int_equal(VEC_PUSH(x.list, (struct item){1, "a"}), 0);
	assert_int_equal(VEC_PUSH(x.list, (struct item){2, "c"}), 0);
	VEC_SORT(x.list, by_cost);
	assert_string_equal(x.list.v[0].name, "c");
	assert_string_equal(x.list.v[1].name, "a");
	assert_string_equal(x.list.v[2].name, "b");
	VEC_FREE(x.list);
}

static void pointers_and_indices_are_followed(void **state)
{
	const struct item one = {1, "one"}, two = {2, "two"}, three = {3, "three"}, *list[] = {&two, &one, &three};
	const int ranks[] = {30, 10, 20};
	unsigned order[] = {0, 1, 2};

	qsort(list, 3, sizeof(*list), by_name);
	assert_true(list[0] == &one && list[1] == &three && list[2] == &two);
	qsort_r(order, 3, sizeof(*order), by_rank, (void *)ranks);
	assert_true(order[0] == 1 && order[1] == 2 && order[2] == 0);
}

static void far_numbers_are_compared_and_nan_is_not(void **state)
{
	assert_int_equal(CMP(INT64_MIN, INT64_MAX), -1);
	assert_int_equal(CMP(2.5, 2.25), 1);
	assert_int_equal(CMP(NAN, 1.0), 0);
}

RUN_TESTS(cmocka_unit_test(the_first_difference_decides), cmocka_unit_test(pointers_and_indices_are_followed), cmocka_unit_test(far_numbers_are_compared_and_nan_is_not))
