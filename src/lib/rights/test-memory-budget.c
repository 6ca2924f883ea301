#include "lib/data/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/rights/memory-budget.h"
#include "lib/data/str.h"
#include "lib/rights/sandbox-enter.h"
#include "lib/system/locked-memory.h"

#define STEP (40ul << 20)

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

/* Takes 40 MB, touches them and frees them; the page faults of that. */
static long faults_of_a_step(void)
{
	struct rusage before, after;
	char *block;

	getrusage(RUSAGE_SELF, &before);
	block = malloc(STEP);
	assert_non_null(block);
	for (size_t i = 0; i < STEP; i += 4096)
		((volatile char *)block)[i] = 1;
	free(block);
	getrusage(RUSAGE_SELF, &after);
	return after.ru_minflt - before.ru_minflt;
}

static void an_answer_takes_again_what_its_last_step_freed(void **state)
{
	if (SANDBOX_SANITIZED) /* it has an allocator of its own */
		skip();
	locked_memory_use_one_heap();
	faults_of_a_step();
	assert_true(faults_of_a_step() >= (long)(STEP / 4096));
	memory_budget_keep_freed();
	faults_of_a_step();
	assert_in_range(faults_of_a_step(), 0, 100);
	locked_memory_use_one_heap();
	locked_memory_release();
	assert_true(faults_of_a_step() >= (long)(STEP / 4096));
}

RUN_TESTS(cmocka_unit_test(bytes_that_are_read_buy_memory), cmocka_unit_test(numbers_that_wrap_buy_nothing),
	  cmocka_unit_test(without_a_budget_there_is_no_bound), cmocka_unit_test(an_answer_takes_again_what_its_last_step_freed))
