/* When is a machine said to be slow: a pressure that swings, and one that goes beyond. */
#include "machine/answer-why/test-recording.h"

#define MANY 30

/* Every 40 s the disk is waited for a half, three quarters or all of `swing` percent of 5 s, else a tenth of the time; from
 * tick `trouble` on `last` percent. So many programs read as much as each other. */
static void begin_swinging(struct story *st, uint32_t first, int64_t swing, uint32_t trouble, int64_t last, int programs)
{
	static char names[MANY][16];
	struct entity_info info = {.id = 77, .kind = ENTITY_SYSTEM, .name = (char *)"machine"};
	struct subject *machine, *copies[MANY];

	begin(st);
	machine = dataset_define(&st->d, &info);
	machine->first = first;
	machine->last = TICKS - 1;
	for (int i = 0; i < programs; i++) {
		snprintf(names[i], sizeof(names[i]), "/bin/copy%d", i);
		copies[i] = add(st, names[i], first, TICKS - 1, 0);
	}
	for (uint32_t t = first; t < TICKS; t++) {
		int64_t waited = t >= trouble ? last : t % 40 < 5 ? swing * (2 + t / 40 % 3) / 4 : 10;

		use(machine, FEATURE_PSI_IO_SOME, t, t, waited * PERCENT);
		for (int i = 0; i < programs; i++)
			use(copies[i], FEATURE_IO_READ_BYTES, t, t, waited * MB / programs);
	}
}

static bool is_slow_since(uint32_t trouble, int programs, uint32_t first, int64_t swing, int64_t last, bool marked)
{
	struct story st;
	bool slow;

	begin_swinging(&st, first, swing, trouble, last, programs);
	ask(&st, marked);
	slow = st.answer.slow && st.answer.slow_since;
	end(&st);
	return slow;
}

static bool is_slow_with(int programs, uint32_t first, int64_t swing, int64_t last, bool marked)
{
	return is_slow_since(TICKS - 6, programs, first, swing, last, marked);
}

static bool is_slow(uint32_t first, int64_t swing, int64_t last, bool marked)
{
	return is_slow_with(MANY, first, swing, last, marked);
}

static void what_comes_again_and_again_is_no_news(void **state)
{
	assert_false(is_slow(0, 40, 40, false));
	assert_false(is_slow(0, 40, 30, true));
	assert_false(is_slow(0, 10, 10, false));
}

static void what_goes_beyond_is_told(void **state)
{
	assert_true(is_slow(0, 40, 90, false));
	assert_true(is_slow(0, 10, 60, false));
	assert_true(is_slow(0, 40, 90, true));
}

static void of_a_short_past_more_must_be_seen(void **state)
{
	uint32_t two_minutes = TICKS - 120;

	assert_false(is_slow(two_minutes, 40, 20, false));
	assert_true(is_slow(0, 40, 70, false));
	assert_true(is_slow(two_minutes, 40, 70, false));
	assert_true(is_slow(two_minutes, 40, 70, true));
	/* without a past a pressure is what it is */
	assert_true(is_slow(TICKS - 20, 40, 70, false));
}

static void less_is_told_where_one_program_stands_out(void **state)
{
	assert_true(is_slow_with(1, TICKS - 120, 40, 70, false));
	assert_false(is_slow_with(1, 0, 40, 40, false));
}

/* A recorder that has just been started beside the trouble, or shortly before it. */
static void a_trouble_that_fills_most_of_a_short_past_is_not_usual(void **state)
{
	assert_true(is_slow_since(TICKS - 22, MANY, TICKS - 36, 10, 60, false));
	assert_true(is_slow_since(TICKS - 30, MANY, TICKS - 60, 10, 60, false));
	assert_true(is_slow_since(TICKS - 90, MANY, TICKS - 110, 10, 60, false));
	assert_true(is_slow_since(TICKS - 36, MANY, TICKS - 36, 10, 60, false));
	/* what never was otherwise in minutes is */
	assert_false(is_slow_since(TICKS - 120, MANY, TICKS - 120, 10, 60, false));
}

static void what_always_is_so_is_told_with_who_uses_most(void **state)
{
	struct story st;

	begin_swinging(&st, 0, 10, 0, 20, 3);
	use(add(&st, "/bin/big", 0, TICKS - 1, 0), FEATURE_IO_READ_BYTES, 0, TICKS - 1, 500 * MB);
	ask(&st, false);
	assert_false(st.answer.slow);
	assert_string_equal(st.answer.busiest.subject->info.name, "big");
	assert_non_null(strstr(st.answer.summary, "big"));
	end(&st);
}

/* A user who presses the button two minutes after the recorder was started has a reason, and there is nothing to compare with. */
/* Programs work as always and wait for a CPU while another one computes. */
static bool is_slow_beside(const char *other)
{
	struct entity_info info = {.id = 77, .kind = ENTITY_SYSTEM, .name = (char *)"machine"};
	uint32_t from = TICKS - 8, to = TICKS - 4;
	struct subject *machine, *usual, *one;
	struct story st;
	bool slow;

	begin(&st);
	machine = dataset_define(&st.d, &info);
	machine->last = TICKS - 1;
	usual = add(&st, "/bin/usual", 0, TICKS - 1, 0);
	one = add(&st, other, 0, TICKS - 1, 0);
	use(machine, FEATURE_PSI_CPU_SOME, 0, TICKS - 1, 2 * PERCENT);
	use(usual, FEATURE_CPU_TIME, 0, TICKS - 1, 30 * PERCENT);
	use(usual, FEATURE_CPU_RUN_DELAY, 0, TICKS - 1, 2 * PERCENT);
	use(machine, FEATURE_PSI_CPU_SOME, from, to, 25 * PERCENT);
	use(usual, FEATURE_CPU_RUN_DELAY, from, to, 60 * PERCENT);
	use(one, FEATURE_CPU_TIME, from, to, 40 * PERCENT);
	ask(&st, true);
	slow = st.answer.slow;
	end(&st);
	return slow;
}

static void what_a_question_makes_others_wait_is_no_trouble(void **state)
{
	assert_true(is_slow_beside("/bin/hog"));
	assert_false(is_slow_beside("/bin/whyslow"));
}

static void what_is_slow_since_the_recorder_began_is_judged_without_a_past(void **state)
{
	struct story st;

	begin_swinging(&st, TICKS - 120, 10, TICKS - 120, 60, 3);
	use(add(&st, "/bin/big", TICKS - 120, TICKS - 1, 0), FEATURE_IO_READ_BYTES, TICKS - 120, TICKS - 1, 500 * MB);
	ask(&st, true);
	assert_true(st.answer.slow && st.answer.culprit_is_named);
	assert_string_equal(first(&st)->subject->info.name, "big");
	assert_true(st.answer.slow_since <= (1000000 + TICKS - 100) * NS_PER_SEC);
	assert_false(st.answer.has_history);
	end(&st);
	/* who came on top of what always is has the past to be compared with */
	begin_swinging(&st, TICKS - 120, 10, TICKS - 120, 60, 3);
	use(add(&st, "/bin/big", TICKS - 120, TICKS - 1, 0), FEATURE_IO_READ_BYTES, TICKS - 120, TICKS - 1, 500 * MB);
	use(add(&st, "/bin/fresh", TICKS - 12, TICKS - 1, 0), FEATURE_IO_READ_BYTES, TICKS - 12, TICKS - 1, 300 * MB);
	ask(&st, true);
	assert_string_equal(first(&st)->subject->info.name, "fresh");
	assert_true(st.answer.has_history);
	end(&st);
}

/* Of 28 s in which programs always had to wait. */
static void ask_young(struct story *st, bool somebody_is_new)
{
	struct why_request request = {.at = (1000000 + TICKS - 1) * NS_PER_SEC, .window = 27 * NS_PER_SEC, .method = &method_blame};

	begin_swinging(st, TICKS - 28, 10, TICKS - 28, 60, 3);
	use(add(st, "/bin/big", TICKS - 28, TICKS - 1, 0), FEATURE_IO_READ_BYTES, TICKS - 28, TICKS - 1, 500 * MB);
	if (somebody_is_new)
		use(add(st, "/bin/fresh", TICKS - 8, TICKS - 1, 0), FEATURE_IO_READ_BYTES, TICKS - 8, TICKS - 1, 300 * MB);
	assert_int_equal(why_answer(&st->d, &request, &st->answer), 0);
	assert_true(st->answer.slow);
	assert_false(st->answer.has_history);
	/* nothing is normal of which there is no past */
	for (enum bottleneck b = 0; b < BOTTLENECK_COUNT; b++)
		assert_true(isnan(st->answer.pressure.usual[b]));
	assert_null(strstr(st->answer.summary, "normal"));
}

static void in_a_young_recording_who_is_new_is_named(void **state)
{
	struct story st;

	ask_young(&st, true);
	assert_string_equal(first(&st)->subject->info.name, "fresh");
	end(&st);
	ask_young(&st, false);
	assert_string_equal(first(&st)->subject->info.name, "big");
	end(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_again_and_again_is_no_news),
		cmocka_unit_test(what_goes_beyond_is_told),
		cmocka_unit_test(of_a_short_past_more_must_be_seen),
		cmocka_unit_test(a_trouble_that_fills_most_of_a_short_past_is_not_usual),
		cmocka_unit_test(what_always_is_so_is_told_with_who_uses_most),
		cmocka_unit_test(what_is_slow_since_the_recorder_began_is_judged_without_a_past),
		cmocka_unit_test(in_a_young_recording_who_is_new_is_named),
		cmocka_unit_test(what_a_question_makes_others_wait_is_no_trouble),
		cmocka_unit_test(less_is_told_where_one_program_stands_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
