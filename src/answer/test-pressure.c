/* When is a machine said to be slow: a pressure that swings, and one that goes beyond. */
#include "answer/test-recording.h"

/* Every 40 s the disk is waited for a half, three quarters or all of `swing` percent of 5 s, else a tenth of the time; in the
 * end `last` percent. */
static void begin_swinging(struct story *st, uint32_t first, int64_t swing, int64_t last)
{
	struct entity_info info = {.id = 77, .kind = ENTITY_SYSTEM, .name = (char *)"machine"};
	struct subject *machine, *copy;

	begin(st);
	machine = dataset_define(&st->d, &info);
	machine->first = first;
	machine->last = TICKS - 1;
	copy = add(st, "/bin/copy", first, TICKS - 1, 0);
	for (uint32_t t = first; t < TICKS; t++) {
		int64_t waited = t >= TICKS - 6 ? last : t % 40 < 5 ? swing * (2 + t / 40 % 3) / 4 : 10;

		use(machine, FEATURE_PSI_IO_SOME, t, t, waited * PERCENT);
		use(copy, FEATURE_IO_READ_BYTES, t, t, waited * MB);
	}
}

static bool is_slow(uint32_t first, int64_t swing, int64_t last, bool marked)
{
	struct story st;
	bool slow;

	begin_swinging(&st, first, swing, last);
	ask(&st, marked);
	slow = st.answer.slow && st.answer.slow_since;
	end(&st);
	return slow;
}

static void what_comes_again_and_again_is_no_news(void **state)
{
	(void)state;
	assert_false(is_slow(0, 40, 40, false));
	assert_false(is_slow(0, 40, 30, true));
	assert_false(is_slow(0, 10, 10, false));
}

static void what_goes_beyond_is_told(void **state)
{
	(void)state;
	assert_true(is_slow(0, 40, 90, false));
	assert_true(is_slow(0, 10, 60, false));
	assert_true(is_slow(0, 40, 90, true));
}

static void of_a_short_past_more_must_be_seen(void **state)
{
	uint32_t two_minutes = TICKS - 120;

	(void)state;
	assert_false(is_slow(two_minutes, 40, 70, false));
	assert_true(is_slow(0, 40, 70, false));
	/* whoever presses the button is believed at less */
	assert_true(is_slow(two_minutes, 40, 70, true));
	/* without a past a pressure is what it is */
	assert_true(is_slow(TICKS - 20, 40, 70, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_again_and_again_is_no_news),
		cmocka_unit_test(what_goes_beyond_is_told),
		cmocka_unit_test(of_a_short_past_more_must_be_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
