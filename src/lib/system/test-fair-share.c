#include "lib/data/test.h"

#include "lib/system/fair-share.h"

static uint32_t take_all(struct fair_share *s, uint32_t uid, uint32_t parent)
{
	uint32_t n = 0;

	while (n < 2 * s->total && fair_share_take(s, uid, parent, 1))
		n++;
	return n;
}

static void one_user_leaves_as_much_as_it_takes(void **state)
{
	struct fair_share s = {.total = 1000};
	uint32_t got;

	got = take_all(&s, 0, 0);
	assert_int_equal(got, 500);
	assert_int_equal(take_all(&s, 33, 0), 250);
	fair_share_reset(&s);
	assert_int_equal(take_all(&s, 0, 0), 500);
	fair_share_reset(&s);
}

static void one_parent_leaves_names_to_the_others_of_its_user(void **state)
{
	struct fair_share s = {.total = 1200};
	uint32_t first;

	first = take_all(&s, 1000, 77);
	assert_in_range(first, 250, 350);
	assert_true(fair_share_take(&s, 1000, 78, 1));
	assert_true(take_all(&s, 1000, 79) > 50);
	fair_share_reset(&s);
}

/* Subordinate uids: a thousand users that are one. */
static void many_users_leave_a_quarter_to_the_system(void **state)
{
	struct fair_share s = {.total = 1000};
	uint32_t users = 0;

	for (uint32_t uid = 100000; uid < 101000; uid++)
		users += take_all(&s, uid, uid);
	assert_in_range(users, 500, 750);
	assert_true(take_all(&s, 0, 1) >= 80);
	fair_share_reset(&s);
}

static void what_is_given_back_can_be_taken_again(void **state)
{
	struct fair_share s = {.total = 100};
	uint32_t got = take_all(&s, 1000, 5);

	assert_false(fair_share_take(&s, 1000, 5, 1));
	fair_share_release(&s, 1000, 5, got);
	assert_int_equal(s.used, 0);
	assert_int_equal(s.by_users, 0);
	assert_int_equal(s.takers.n, 0);
	assert_int_equal(take_all(&s, 1000, 5), got);
	fair_share_charge(&s, 1000, 5, 1000);
	assert_false(fair_share_take(&s, 0, 1, 1));
	fair_share_reset(&s);
}

RUN_TESTS(cmocka_unit_test(one_user_leaves_as_much_as_it_takes),
	  cmocka_unit_test(one_parent_leaves_names_to_the_others_of_its_user),
	  cmocka_unit_test(many_users_leave_a_quarter_to_the_system),
	  cmocka_unit_test(what_is_given_back_can_be_taken_again))
