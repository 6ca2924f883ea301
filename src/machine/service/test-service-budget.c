#include "lib/data/test.h"

#include "lib/data/clock.h"
#include "machine/service/service-budget.h"

static void end(struct budget *b, uint32_t uid, int64_t now, int64_t cpu)
{
	budget_leave(b, uid);
	budget_charge(b, uid, now, cpu);
}

static void a_user_has_so_many_questions_at_a_time_and_others_have_theirs(void **state)
{
	struct budget b = {};
	bool urgent;

	for (int i = 0; i < BUDGET_RUNNING; i++)
		assert_true(budget_begin(&b, 1000, NS_PER_SEC, &urgent));
	assert_false(budget_begin(&b, 1000, NS_PER_SEC, &urgent));
	assert_true(budget_begin(&b, 1001, NS_PER_SEC, &urgent));
	assert_true(budget_begin(&b, 0, NS_PER_SEC, &urgent));
	end(&b, 1000, NS_PER_SEC, 0);
	assert_true(budget_begin(&b, 1000, NS_PER_SEC, &urgent));
}

static void root_is_answered_when_all_others_ask(void **state)
{
	struct budget b = {};
	bool urgent;

	for (int i = 0; i < BUDGET_ALL; i++)
		assert_true(budget_begin(&b, 1000 + (uint32_t)i / BUDGET_RUNNING, NS_PER_SEC, &urgent));
	assert_false(budget_begin(&b, 2000, NS_PER_SEC, &urgent));
	assert_true(budget_begin(&b, 0, NS_PER_SEC, &urgent));
}

static void urgency_is_used_up_and_comes_back(void **state)
{
	struct budget b = {};
	int64_t now = NS_PER_SEC, wait = BUDGET_QUESTION * BUDGET_SHARE;
	bool urgent = true;
	int n = 0;

	for (; urgent && n < 100; n++) {
		assert_true(budget_begin(&b, 1000, now, &urgent));
		end(&b, 1000, now, 10 * BUDGET_QUESTION); /* more than the budget is not at its account */
	}
	assert_int_equal(n, BUDGET_SAVED / BUDGET_QUESTION + 1);
	assert_true(budget_begin(&b, 1001, now, &urgent));
	assert_true(urgent); /* another's */
	assert_true(budget_begin(&b, 1000, now + 2 * wait, &urgent));
	assert_true(urgent);
}

static void users_that_owe_nothing_make_room(void **state)
{
	struct budget b = {};
	bool urgent;

	for (uint32_t uid = 0; uid < 10 * BUDGET_USERS; uid++) {
		assert_true(budget_begin(&b, uid, uid * NS_PER_SEC, &urgent));
		end(&b, uid, uid * NS_PER_SEC, BUDGET_QUESTION / 10);
	}
	assert_int_equal(b.running, 0);
}

/* One person may have 65,536 uids, and owe with each of them. */
static void users_that_owe_leave_room_for_root(void **state)
{
	struct budget b = {};
	bool urgent;

	for (uint32_t uid = 100000; uid < 100000 + 10 * BUDGET_USERS; uid++) {
		assert_true(budget_begin(&b, uid, NS_PER_SEC, &urgent));
		end(&b, uid, NS_PER_SEC, BUDGET_QUESTION);
	}
	assert_true(budget_begin(&b, 0, NS_PER_SEC, &urgent));
	assert_true(budget_begin(&b, 1000, NS_PER_SEC, &urgent));
}

static void who_has_most_makes_room(void **state)
{
	struct budget b = {};
	uint32_t heaviest = 0;
	bool urgent;

	assert_false(budget_find_heaviest(&b, 2000, &heaviest));
	for (int i = 0; i < BUDGET_ALL; i++)
		assert_true(budget_begin(&b, i < 3 ? 1000 : i < 8 ? 1001 : 1002 + (uint32_t)i, NS_PER_SEC, &urgent));
	assert_true(budget_begin(&b, 0, NS_PER_SEC, &urgent));
	assert_false(budget_begin(&b, 2000, NS_PER_SEC, &urgent));
	assert_true(budget_find_heaviest(&b, 2000, &heaviest));
	assert_int_equal(heaviest, 1001);
	assert_true(budget_find_heaviest(&b, 1000, &heaviest)); /* three are fewer than five */
	assert_int_equal(heaviest, 1001);
	assert_false(budget_find_heaviest(&b, 1001, &heaviest)); /* its own are most: it waits for those */
	budget_leave(&b, heaviest);
	assert_true(budget_begin(&b, 2000, NS_PER_SEC, &urgent));
}

static void root_makes_no_room(void **state)
{
	struct budget b = {};
	uint32_t heaviest = 0;
	bool urgent;

	for (int i = 0; i < ROOT_RUNNING; i++)
		assert_true(budget_begin(&b, 0, NS_PER_SEC, &urgent));
	assert_false(budget_find_heaviest(&b, 1000, &heaviest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_has_so_many_questions_at_a_time_and_others_have_theirs),
		cmocka_unit_test(root_is_answered_when_all_others_ask),
		cmocka_unit_test(urgency_is_used_up_and_comes_back),
		cmocka_unit_test(users_that_owe_nothing_make_room),
		cmocka_unit_test(users_that_owe_leave_room_for_root),
		cmocka_unit_test(who_has_most_makes_room),
		cmocka_unit_test(root_makes_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
