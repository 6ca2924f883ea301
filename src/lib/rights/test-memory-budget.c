#include "lib/data/test.h"

#include <errno.h>
#include <string.h>

#include "lib/rights/memory-budget.h"
#include "lib/data/str.h"

static void bytes_that_are_read_buy_memory(void **state)
{
	struct memory_budget b = {};

	assert_int_equal(memory_budget_take(&b, 1, BUDGET_LEAST), 0);
	assert_int_equal(memory_budget_result(&b, -ENOMEM), -ENOMEM); /* the machine's own */
	memory_budget_feed(&b, 10);
	assert_int_equal(memory_budget_take(&b, 10, BUDGET_TIMES), 0);
	assert_int_equal(memory_budget_take(&b, 1, 1), -ENOMEM);
	assert_int_equal(memory_budget_result(&b, -ENOMEM), -EDQUOT);
	assert_int_equal(memory_budget_result(&b, -EBADMSG), -EBADMSG);
	assert_non_null(strstr(str_error(-EDQUOT), "its size"));
	memory_budget_give(&b, 10, 1);
	assert_int_equal(memory_budget_take(&b, 10, 1), 0);
}

static void numbers_that_wrap_buy_nothing(void **state)
{
	struct memory_budget b = {};

	assert_int_equal(memory_budget_take(&b, UINT64_MAX / 2, 4), -ENOMEM);
	assert_int_equal(memory_budget_take(&b, 1, 8), 0);
	assert_int_equal(memory_budget_take(&b, 1, UINT64_MAX - 4), -ENOMEM);
	memory_budget_feed(&b, UINT64_MAX);
	assert_int_equal(memory_budget_take(&b, 1, UINT64_MAX / 2), 0);
}

static void without_a_budget_there_is_no_bound(void **state)
{
	memory_budget_feed(NULL, 1);
	assert_int_equal(memory_budget_take(NULL, UINT64_MAX, UINT64_MAX), 0);
	memory_budget_give(NULL, 1, 1);
	assert_int_equal(memory_budget_result(NULL, -ENOMEM), -ENOMEM);
}

RUN_TESTS(cmocka_unit_test(bytes_that_are_read_buy_memory), cmocka_unit_test(numbers_that_wrap_buy_nothing),
	  cmocka_unit_test(without_a_budget_there_is_no_bound))
