/* Who owes an answer and sleeps: written event by event. */
#include "machine/threads/test-story.h"

#include "machine/blame/no-reply.h"

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
	_cleanup_(no_reply_waits_free) struct no_reply_waits found = {};

	tell(s, us);
	assert_int_equal(no_reply_waits_find(&s->line, &found), 0);
	*ret_us = 0;
	for (size_t i = 0; i < found.list.n; i++) {
		const struct no_reply_wait *w = &found.list.v[i];

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

/* Times, each of them answered at once or never; and at last once more, at `last` us. */
static void ask_often(struct story *s, unsigned times, bool answers, int64_t last)
{
	answer(s, 120);
	leave_for(s, 130, 1, B, 0, CALL_POLL, 0);
	leave_for(s, 140, 0, A, 0, CALL_POLL, 0);
	for (unsigned i = 1; i <= times + 1; i++) {
		int64_t at = i <= times ? 1000 * i : last;

		wake_in(s, at, 0, 0, A, 0, WAKEUP_IN_IRQ, EVENT_TIMER_VECTOR);
		leave_for(s, at, 0, 0, A, 0, 0);
		wake(s, at + 10, 0, A, B, 1);
		leave_for(s, at + 10, 1, 0, B, 0, 0);
		leave_for(s, at + 20, 0, A, 0, CALL_POLL, 0);
		if (i <= times && answers)
			answer(s, at + 30);
		leave_for(s, at + 40, 1, B, 0, CALL_POLL, 0);
		if (i <= times && answers)
			leave_for(s, at + 50, 0, A, 0, CALL_POLL, 0);
	}
}

/* Both are "python": what they run is not to be seen, but who started them is. */
static void begin_alike(struct story *s, uint32_t parent_of_server)
{
	for (size_t i = 0; i < s->trace.threads.n; i++) {
		struct trace_thread *t = &s->trace.threads.v[i];

		snprintf(t->comm, sizeof(t->comm), "python");
		t->parent = t->tid == B ? parent_of_server : 1;
	}
	cast_process(s, 1, "init");
}

/* us that A waits for B at the end */
static int64_t owed_to_the_end(struct story *s, int64_t us)
{
	_cleanup_(no_reply_waits_free) struct no_reply_waits found = {};

	tell(s, us);
	assert_int_equal(no_reply_to_the_end_find(&s->line, &found), 0);
	assert_true(found.list.n <= 1);
	if (!found.list.n)
		return 0;
	assert_int_equal(s->line.threads.v[found.list.v[0].asker].tid, A);
	assert_int_equal(s->line.threads.v[found.list.v[0].server].tid, B);
	assert_int_equal(found.list.v[0].to, s->line.end);
	return (found.list.v[0].to - found.list.v[0].from) / US;
}

static void who_always_answered_and_does_not_any_more(void **state)
{
	STORY(s);

	ask_often(&s, 20, true, 30000);
	assert_int_equal(owed_to_the_end(&s, 2000000), 2000000 - 30040);
}

/* B slept first: its answer, which A read without having slept, wakes no one. */
static void who_was_awake_may_have_been_answered(void **state)
{
	STORY(s);

	ask_often(&s, 20, true, 30000);
	wake_in(&s, 40000, 0, 0, A, 0, WAKEUP_IN_IRQ, EVENT_TIMER_VECTOR);
	leave_for(&s, 40000, 0, 0, A, 0, 0);
	wake(&s, 40010, 0, A, B, 1);
	leave_for(&s, 40010, 1, 0, B, 0, 0);
	leave_for(&s, 40040, 1, B, 0, CALL_POLL, 0);
	leave_for(&s, 40060, 0, A, 0, CALL_POLL, 0);
	assert_int_equal(owed_to_the_end(&s, 2000000), 0);
}

/* As a client that pauses between its requests: its server wakes it with each answer. */
static void who_is_asked_for_the_next_request_is_the_client(void **state)
{
	STORY(s);

	ask_often(&s, 20, true, 30000);
	for (int i = 0; i < 20; i++) { /* B waits for A no longer than A for B */
		int64_t at = 40000 + 10000 * i;

		leave_for(&s, at, 1, 0, B, 0, 0);
		wake(&s, at, 1, B, A, 0);
		leave_for(&s, at, 0, 0, A, 0, 0);
		leave_for(&s, at + 10, 1, B, 0, CALL_POLL, 0);
		wake(&s, at + 20, 0, A, B, 1);
		leave_for(&s, at + 20, 1, 0, B, 0, 0);
		leave_for(&s, at + 30, 0, A, 0, CALL_POLL, 0);
		leave_for(&s, at + 40, 1, B, 0, CALL_POLL, 0);
	}
	assert_int_equal(owed_to_the_end(&s, 2000000), 0);
}

/* A moment late is nothing yet. */
static void an_answer_may_take_a_moment(void **state)
{
	STORY(s);

	ask_often(&s, 20, true, 30000);
	assert_int_equal(owed_to_the_end(&s, 900000), 0);
}

/* As a screen that is drawn on: it is reported, and has nothing to say to that. */
static void who_never_answered_owes_no_answer(void **state)
{
	STORY(s);

	ask_often(&s, 20, false, 30000);
	assert_int_equal(owed_to_the_end(&s, 2000000), 0);
}

static void asked_seldom_it_is_no_habit(void **state)
{
	STORY(s);

	ask_often(&s, 5, true, 30000);
	assert_int_equal(owed_to_the_end(&s, 2000000), 0);
}

/* Stopped, it is not woken when it is asked. */
static void who_is_stopped_answers_nobody(void **state)
{
	STORY(s);

	ask_often(&s, 20, true, 30000);
	answer(&s, 30100);
	wake(&s, 30200, 2, C, B, 1);
	leave_for(&s, 30200, 1, 0, B, 0, 0);
	leave(&s, 30210, 1, B, 0, TASK_STATE_STOPPED, 0, 0);
	leave_for(&s, 40000, 0, A, 0, CALL_POLL, 0);
	assert_int_equal(owed_to_the_end(&s, 2000000), 2000000 - 40000);
}

/* B was asked for the last time and left the CPU for that; at 30100 us it does something else. */
static void instead(struct story *s, uint8_t call)
{
	ask_often(s, 20, true, 30000);
	wake(s, 30100, 2, C, B, 1);
	leave_for(s, 30100, 1, 0, B, 0, 0);
	if (call)
		leave_for(s, 30110, 1, B, 0, call, 0);
}

static void who_is_held_up_by_a_lock_of_a_file(void **state)
{
	STORY(s);

	instead(&s, CALL_FILE_LOCK);
	assert_int_equal(owed_to_the_end(&s, 2000000), 2000000 - 30110);
}

static void who_sleeps_in_the_middle_of_it(void **state)
{
	STORY(s);

	instead(&s, CALL_SLEEP);
	assert_int_equal(owed_to_the_end(&s, 2000000), 2000000 - 30110);
}

static void who_computes_and_answers_nobody(void **state)
{
	STORY(s);

	instead(&s, 0);
	assert_int_equal(owed_to_the_end(&s, 2000000), 2000000 - 30100);
}

static void who_computes_for_others_is_busy(void **state)
{
	STORY(s);

	cast_process(&s, D, "another client");
	instead(&s, 0);
	leave_for(&s, 31000, 2, C, 0, CALL_POLL, 0);
	leave_for(&s, 32000, 2, 0, D, 0, 0);
	leave_for(&s, 33000, 2, D, 0, CALL_POLL, 0);
	wake(&s, 1500000, 1, B, D, 2);
	leave_for(&s, 1500000, 2, 0, D, 0, 0);
	assert_int_equal(owed_to_the_end(&s, 2000000), 0);
}

/* It is reported by the recorder at the freeze: C has the lock of the file that B wants. */
static void who_holds_the_lock_is_charged(void **state)
{
	_cleanup_(no_reply_waits_free) struct no_reply_waits found = {};
	STORY(s);

	instead(&s, CALL_FILE_LOCK);
	for (size_t i = 0; i < s.trace.threads.n; i++)
		if (s.trace.threads.v[i].tid == B)
			s.trace.threads.v[i].owner = C;
	tell(&s, 2000000);
	assert_int_equal(no_reply_to_the_end_find(&s.line, &found), 0);
	assert_int_equal(found.list.n, 1);
	assert_int_equal(found.list.v[0].asker, who(&s, A));
	assert_int_equal(found.list.v[0].server, who(&s, B));
	assert_int_equal(found.list.v[0].waker, who(&s, C));
}

static void scripts_of_one_interpreter_are_two_programs(void **state)
{
	STORY(s);

	begin_alike(&s, 1);
	ask_often(&s, 20, true, 30000);
	assert_int_equal(owed_to_the_end(&s, 2000000), 2000000 - 30040);
}

/* Workers hand work to each other, and rest. */
static void workers_of_one_program_are_not(void **state)
{
	STORY(s);

	begin_alike(&s, C);
	ask_often(&s, 20, true, 30000);
	assert_int_equal(owed_to_the_end(&s, 2000000), 0);
}

/* Over the network, where it is not seen who sends: every n-th answer is known to be B's. */
static void ask_over_network(struct story *s, unsigned known)
{
	answer(s, 120);
	leave_for(s, 130, 1, B, 0, CALL_POLL, 0);
	leave_for(s, 140, 0, A, 0, CALL_SOCKET, 0);
	for (unsigned i = 1; i <= 21; i++) {
		int64_t at = 1000 * i;

		wake_in(s, at, 0, 0, A, 0, WAKEUP_IN_IRQ, EVENT_TIMER_VECTOR);
		leave_for(s, at, 0, 0, A, 0, 0);
		wake(s, at + 10, 0, A, B, 1);
		leave_for(s, at + 10, 1, 0, B, 0, 0);
		leave_for(s, at + 20, 0, A, 0, CALL_SOCKET, 0);
		if (i <= 20 && i % known == 0)
			answer(s, at + 30);
		else if (i <= 20)
			wake_in(s, at + 30, 1, B, A, 0, WAKEUP_IN_SOFTIRQ, 3), leave_for(s, at + 30, 0, 0, A, 0, 0);
		leave_for(s, at + 40, 1, B, 0, CALL_POLL, 0);
		if (i <= 20)
			leave_for(s, at + 50, 0, A, 0, CALL_SOCKET, 0);
	}
}

static void answers_of_whom_is_not_known_count_beside_others(void **state)
{
	STORY(s);

	ask_over_network(&s, 2);
	assert_true(owed_to_the_end(&s, 2000000) > 1900000);
}

static void answers_from_elsewhere_are_not_the_servers(void **state)
{
	STORY(s);

	ask_over_network(&s, 10);
	assert_int_equal(owed_to_the_end(&s, 2000000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_held_up_by_a_lock_of_a_file),
		cmocka_unit_test(who_sleeps_in_the_middle_of_it),
		cmocka_unit_test(who_computes_and_answers_nobody),
		cmocka_unit_test(who_computes_for_others_is_busy),
		cmocka_unit_test(who_holds_the_lock_is_charged),
		cmocka_unit_test(answers_of_whom_is_not_known_count_beside_others),
		cmocka_unit_test(answers_from_elsewhere_are_not_the_servers),
		cmocka_unit_test(scripts_of_one_interpreter_are_two_programs),
		cmocka_unit_test(workers_of_one_program_are_not),
		cmocka_unit_test(a_sibling_lets_it_go_on),
		cmocka_unit_test(who_has_answered_owes_nothing),
		cmocka_unit_test(whom_it_asks_works_for_it),
		cmocka_unit_test(who_is_asked_again_has_answered),
		cmocka_unit_test(who_always_answered_and_does_not_any_more),
		cmocka_unit_test(who_was_awake_may_have_been_answered), cmocka_unit_test(who_is_asked_for_the_next_request_is_the_client), cmocka_unit_test(an_answer_may_take_a_moment),
		cmocka_unit_test(who_never_answered_owes_no_answer),
		cmocka_unit_test(asked_seldom_it_is_no_habit),
		cmocka_unit_test(who_is_stopped_answers_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
