/* Who owes an answer and sleeps: told event by event. */
#include "timeline/test-story.h"

#include "timeline/owed.h"

#define STORY(s) _cleanup_(story_end) struct story s; begin(&s); (void)state

/* The client A asks the server B; C is B's sibling. */
static void begin(struct story *s)
{
	story_begin(s, 3);
	cast_process(s, A, "client");
	cast_process(s, B, "server");
	cast_process(s, C, "server");
	leave_for(s, 1, 0, 0, A, 0, 0);
	leave_for(s, 1, 1, 0, B, 0, 0);
	leave_for(s, 1, 2, 0, C, 0, 0);
	leave_for(s, 10, 1, B, 0, CALL_POLL, 0);
	wake(s, 100, 0, A, B, 1);
	leave_for(s, 100, 1, 0, B, 0, 0);
	leave_for(s, 110, 0, A, 0, CALL_POLL, 0);
}

static void answer(struct story *s, int64_t us)
{
	wake(s, us, 1, B, A, 0);
	leave_for(s, us, 0, 0, A, 0, 0);
}

static size_t owed(struct story *s, int64_t us, int64_t *ret_us)
{
	_cleanup_(owed_waits_free) struct owed_waits found = {};

	tell(s, us);
	assert_int_equal(owed_waits_find(&s->line, &found), 0);
	*ret_us = 0;
	for (size_t i = 0; i < found.list.n; i++) {
		const struct owed_wait *w = &found.list.v[i];

		*ret_us += (w->to - w->from) / US;
		assert_int_equal(s->line.threads.v[w->asker].tid, A);
		assert_int_equal(s->line.threads.v[w->server].tid, B);
		assert_int_equal(s->line.threads.v[w->waker].tid, C);
	}
	return found.list.n;
}

/* Woken by a timer in between, it looks and sleeps on: one wait. */
static void a_sibling_lets_it_go_on(void **state)
{
	STORY(s);
	int64_t us;

	leave_for(&s, 120, 1, B, 0, CALL_POLL, 0);
	wake_in(&s, 400, 1, 0, B, 1, WAKEUP_IN_IRQ, EVENT_TIMER_VECTOR);
	leave_for(&s, 400, 1, 0, B, 0, 0);
	leave_for(&s, 405, 1, B, 0, CALL_POLL, 0);
	wake(&s, 800, 2, C, B, 1);
	leave_for(&s, 800, 1, 0, B, 0, 0);
	answer(&s, 900);
	assert_int_equal(owed(&s, 1000, &us), 1);
	assert_int_equal(us, 680);
}

static void who_has_answered_owes_nothing(void **state)
{
	STORY(s);
	int64_t us;

	answer(&s, 120);
	leave_for(&s, 130, 0, A, 0, CALL_POLL, 0);
	leave_for(&s, 140, 1, B, 0, CALL_POLL, 0);
	wake(&s, 800, 2, C, B, 1);
	leave_for(&s, 800, 1, 0, B, 0, 0);
	answer(&s, 900);
	assert_int_equal(owed(&s, 1000, &us), 0);
}

static void whom_it_asks_works_for_it(void **state)
{
	STORY(s);
	int64_t us;

	leave_for(&s, 50, 2, C, 0, CALL_POLL, 0);
	wake(&s, 115, 1, B, C, 2);
	leave_for(&s, 115, 2, 0, C, 0, 0);
	leave_for(&s, 120, 1, B, 0, CALL_POLL, 0);
	wake(&s, 800, 2, C, B, 1);
	leave_for(&s, 800, 1, 0, B, 0, 0);
	answer(&s, 900);
	assert_int_equal(owed(&s, 1000, &us), 0);
}

/* An answer that was not seen, because the client did not sleep: the sibling's wakeup was about something else. */
static void who_is_asked_again_has_answered(void **state)
{
	STORY(s);
	int64_t us;

	leave_for(&s, 120, 1, B, 0, CALL_POLL, 0);
	wake(&s, 500, 2, C, B, 1);
	leave_for(&s, 500, 1, 0, B, 0, 0);
	leave_for(&s, 510, 1, B, 0, CALL_POLL, 0);
	wake_in(&s, 600, 0, 0, A, 0, WAKEUP_IN_IRQ, EVENT_TIMER_VECTOR);
	leave_for(&s, 600, 0, 0, A, 0, 0);
	wake(&s, 700, 0, A, B, 1);
	leave_for(&s, 700, 1, 0, B, 0, 0);
	leave_for(&s, 710, 0, A, 0, CALL_POLL, 0);
	answer(&s, 900);
	assert_int_equal(owed(&s, 1000, &us), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sibling_lets_it_go_on),
		cmocka_unit_test(who_has_answered_owes_nothing),
		cmocka_unit_test(whom_it_asks_works_for_it),
		cmocka_unit_test(who_is_asked_again_has_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
