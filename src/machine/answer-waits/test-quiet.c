/* Stories in which nothing is short and someone has gone quiet. */
#include "machine/answer-why/test-recording.h"

#define LONG 8 /* ticks */

/* Runs in every tick but each `rests`th few, and not in the last LONG ones. */
static bool is_told(int64_t from, int64_t rests, int64_t ticks)
{
	struct subject *bank;
	struct story st;
	bool told;

	begin(&st);
	use(add(&st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_TIME, 0, TICKS - 1, 5 * PERCENT);
	bank = add(&st, "/bin/bank", (uint32_t)from, TICKS - 1, 0);
	for (int64_t t = from; t < TICKS - LONG; t++)
		if (!rests || t % rests >= ticks)
			use(bank, FEATURE_CPU_TIME, (uint32_t)t, (uint32_t)t, PERCENT / 2);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask(&st, true);
	assert_false(st.answer.slow);
	told = strstr(st.answer.summary, "bank has done nothing for 8 s") != NULL;
	assert_int_equal(st.answer.hangs.n != 0, told);
	end(&st);
	return told;
}

static void who_always_ran_and_rests_is_told_of(void **state)
{
	(void)state;
	assert_true(is_told(0, 0, 0));
	/* a second now and then is nothing next to that */
	assert_true(is_told(0, 20, 1));
}

static void who_rests_now_and_then_is_not(void **state)
{
	(void)state;
	assert_false(is_told(0, 20, 3));
}

static void of_who_has_just_begun_nobody_knows(void **state)
{
	(void)state;
	assert_false(is_told(TICKS - LONG - 50, 0, 0));
}

static void one_that_was_started_anew_has_not_gone_quiet(void **state)
{
	uint32_t began = TICKS - LONG - 1;
	struct story st;

	(void)state;
	begin(&st);
	use(add(&st, "/bin/editor", 0, TICKS - 1, 0), FEATURE_CPU_TIME, 0, TICKS - 1, 5 * PERCENT);
	use(add(&st, "/bin/guard", 0, began - 1, 0), FEATURE_CPU_TIME, 0, began - 1, PERCENT);
	use(add(&st, "/bin/guard", began, TICKS - 1, 0), FEATURE_CPU_TIME, began, began, PERCENT);
	press(&st, FEATURE_PSI_CPU_SOME, 2, 2);
	ask(&st, true);
	assert_int_equal(st.answer.hangs.n, 0);
	end(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_always_ran_and_rests_is_told_of),
		cmocka_unit_test(who_rests_now_and_then_is_not),
		cmocka_unit_test(of_who_has_just_begun_nobody_knows),
		cmocka_unit_test(one_that_was_started_anew_has_not_gone_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
