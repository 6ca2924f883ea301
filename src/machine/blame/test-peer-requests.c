/* Who asks whom, and which answer is late: wakeup by wakeup. */
#include "machine/threads/test-story.h"

#include "machine/blame/peer-requests.h"

#define STORY(s) _cleanup_(story_end) struct story s; begin(&s); (void)state
#define ROUND 50000 /* us from one request to the next */
#define ROUNDS 20
#define END (ROUNDS * ROUND)

/* A asks B every 50 ms and is answered after 2 ms, whatever call both wait in. */
static void begin(struct story *s)
{
	story_begin(s, 2);
	cast_process(s, A, "client");
	cast_process(s, B, "server");
	cast_process(s, C, "stranger");
}

static void ask_and_answer(struct story *s, int64_t us, int64_t took)
{
	wake(s, us, 0, A, B, 1);
	wake(s, us + took, 1, B, A, 0);
}

static void talk(struct story *s)
{
	for (int64_t i = 0; i < ROUNDS; i++)
		ask_and_answer(s, 1000 + i * ROUND, 2000);
}

/* All threads sleep in poll() at `us`. */
static void end_story(struct story *s, int64_t us)
{
	s->trace.from = 1;
	s->trace.to = s->trace.frozen = (uint64_t)(us * US);
	assert_int_equal(trace_finish(&s->trace), 0);
	for (size_t i = 0; i < s->trace.threads.n; i++) {
		s->trace.threads.v[i].state = STATE_IDLE;
		s->trace.threads.v[i].state_since = 1;
		s->trace.threads.v[i].facts.call = CALL_POLL;
	}
}

static void find(struct story *s, int64_t us, struct peer_requests *ret)
{
	end_story(s, us);
	assert_int_equal(peer_requests_find(&s->trace, ret), 0);
}

static struct trace_thread *thread(struct story *s, uint32_t tid)
{
	for (size_t i = 0; i < s->trace.threads.n; i++)
		if (s->trace.threads.v[i].tid == tid)
			return &s->trace.threads.v[i];
	fail();
	return NULL;
}

static void an_answer_that_does_not_come_is_late(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	const struct peer_request *pending;
	STORY(s);

	talk(&s);
	wake(&s, END + 1000, 0, A, B, 1);
	find(&s, END + 3001000, &found);
	assert_int_equal(found.late.n, 1);
	assert_int_equal(found.late.v[0].process, A);
	assert_int_equal(found.late.v[0].server, B);
	assert_int_equal(found.late.v[0].took, 3000 * MS);
	assert_int_equal(found.late.v[0].normally, 2 * MS);
	assert_true(found.late.v[0].pending);
	pending = peer_requests_pending_of(&found, A, 0);
	assert_non_null(pending);
	assert_int_equal(pending->asked, B);
	assert_null(peer_requests_pending_of(&found, A, (END + 2000) * US));
	assert_null(peer_requests_pending_of(&found, C, 0));
}

static void an_answer_that_came_late_is_late(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	talk(&s);
	ask_and_answer(&s, END + 1000, 1500 * 1000);
	find(&s, END + 1600 * 1000, &found);
	assert_int_equal(found.late.n, 1);
	assert_int_equal(found.late.v[0].took, 1500 * MS);
	assert_false(found.late.v[0].pending);
}

static void what_came_late_long_ago_is_over(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	talk(&s);
	ask_and_answer(&s, 20 * END, 1500 * 1000);
	find(&s, 20 * END + 15000 * 1000, &found);
	assert_int_equal(found.late.n, 0);
}

/* The server waits for its next request, which is not a hang. */
static void who_is_asked_no_more_waits_for_work(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	talk(&s);
	find(&s, END + 5000 * 1000, &found);
	assert_int_equal(found.late.n, 0);
}

static void who_is_never_answered_waits_for_nothing(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	for (int64_t i = 0; i < ROUNDS; i++)
		wake(&s, 1000 + i * ROUND, 0, A, B, 1);
	find(&s, END + 5000 * 1000, &found);
	assert_int_equal(found.late.n, 0);
}

static void answers_that_always_take_long_are_not_late(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	for (int64_t i = 0; i < ROUNDS; i++)
		ask_and_answer(&s, 1000 + i * 2000 * 1000, 500 * 1000);
	wake(&s, ROUNDS * 2000 * 1000, 0, A, B, 1);
	find(&s, ROUNDS * 2000 * 1000 + 1500 * 1000, &found);
	assert_int_equal(found.late.n, 0);
}

/* As psql and its backend: a new pair each time. */
static void new_processes_are_known_by_their_names(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		cast_process(&s, 1000 + i, "psql");
		cast_process(&s, 2000 + i, "postgres");
		wake(&s, 1000 + i * ROUND, 0, 1000 + i, 2000 + i, 1);
		if (i < ROUNDS - 1)
			wake(&s, 2000 + i * ROUND, 1, 2000 + i, 1000 + i, 0);
	}
	find(&s, END + 3000 * 1000, &found);
	assert_int_equal(found.late.n, 1);
	assert_int_equal(found.late.v[0].process, 1000 + ROUNDS - 1);
}

/* An interpreter's name is that of many programs: these two have talked, if not often, and take their time. */
static void who_talked_before_is_not_known_by_name(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		cast_process(&s, 1000 + i, "python3");
		cast_process(&s, 2000 + i, "postgres");
		wake(&s, 1000 + i * ROUND, 0, 1000 + i, 2000 + i, 1);
		wake(&s, 2000 + i * ROUND, 1, 2000 + i, 1000 + i, 0);
	}
	cast_process(&s, 500, "python3");
	cast_process(&s, 600, "postgres");
	wake(&s, END + 1000, 0, 500, 600, 1);
	wake(&s, END + 1000 * 1000, 1, 600, 500, 0);
	wake(&s, END + 1001 * 1000, 0, 500, 600, 1);
	find(&s, END + 7000 * 1000, &found);
	assert_int_equal(found.late.n, 0);
}

/* A process hears in one thread and speaks in another: of what that one says no answer comes. Who of the two asks is not known. */
static void by_one_direction_alone_nothing_is_late(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	cast_thread(&s, D, B, "server", 0);
	for (int64_t i = 0; i < ROUNDS; i++) {
		wake(&s, 1000 + i * ROUND, 0, A, B, 1);
		wake(&s, 3000 + i * ROUND, 1, D, A, 0);
	}
	wake(&s, END + 1000, 0, A, B, 1);
	find(&s, END + 3001000, &found);
	assert_non_null(peer_requests_pending_of(&found, A, 0));
	assert_int_equal(found.late.n, 0);
}

/* Both wait in poll() for each other. */
static void talk_in_poll(struct story *s)
{
	for (int64_t i = 0; i < ROUNDS; i++) {
		int64_t us = 1000 + i * ROUND;

		leave_for(s, us - 500, 1, B, 0, CALL_POLL, 0);
		wake(s, us, 0, A, B, 1);
		leave_for(s, us + 100, 0, A, 0, CALL_POLL, 0);
		wake(s, us + 2000, 1, B, A, 0);
	}
}

/* It was asked where it polls, and now computes, or waits for a child. */
static void who_is_elsewhere_may_have_been_asked(void **state)
{
	static const struct {
		uint8_t state, call;
		size_t assumed;
	} servers[] = {{STATE_RUNNING, CALL_POLL, 1}, {STATE_CHILD, CALL_CHILD, 1}, {STATE_IDLE, CALL_POLL, 0}};

	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		_cleanup_(peer_requests_free) struct peer_requests found = {};
		_cleanup_(story_end) struct story s;

		begin(&s);
		talk_in_poll(&s);
		end_story(&s, END + 3000 * 1000);
		thread(&s, A)->state_since = (uint64_t)(END * US);
		thread(&s, B)->state = servers[i].state;
		thread(&s, B)->facts.call = servers[i].call;
		assert_int_equal(peer_requests_find(&s.trace, &found), 0);
		assert_int_equal(found.late.n, 0);
		assert_int_equal(found.assumed.n, servers[i].assumed);
		if (found.assumed.n) {
			assert_int_equal(found.assumed.v[0].process, A);
			assert_int_equal(found.assumed.v[0].asked, B);
			assert_int_equal(found.assumed.v[0].took, 3000 * MS);
			assert_int_equal(found.assumed.v[0].normally, 2 * MS);
		}
	}
}

/* Who sleeps for something else than its answers does not wait for them. */
static void who_sleeps_elsewhere_has_not_asked(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	talk_in_poll(&s);
	end_story(&s, END + 3000 * 1000);
	thread(&s, A)->facts.call = CALL_SLEEP;
	thread(&s, B)->state = STATE_RUNNING;
	assert_int_equal(peer_requests_find(&s.trace, &found), 0);
	assert_int_equal(found.assumed.n, 0);
}

/* The client is not asleep yet when the answer comes, and pauses. */
static void ask_and_be_answered_awake(struct story *s, int64_t us)
{
	leave_for(s, us - 500, 1, B, 0, CALL_POLL, 0);
	wake(s, us, 0, A, B, 1);
	leave_for(s, us + 2000, 0, A, 0, CALL_SLEEP, 0);
}

static void who_is_answered_awake_waits_no_more(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	talk_in_poll(&s);
	ask_and_be_answered_awake(&s, END + 1000);
	end_story(&s, END + 4000 * 1000);
	thread(&s, A)->facts.call = CALL_SLEEP;
	assert_int_equal(peer_requests_find(&s.trace, &found), 0);
	assert_int_equal(found.late.n, 0);
	assert_int_equal(found.pending.n, 0);
}

static void the_next_request_is_another_one(void **state)
{
	const int64_t next = END + 4000 * 1000;
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	talk_in_poll(&s);
	ask_and_be_answered_awake(&s, END + 1000);
	ask_and_answer(&s, next, 2000);
	find(&s, next + 3000, &found);
	assert_int_equal(found.late.n, 0);
}

/* As an event loop, which sleeps in one call, whatever it waits for; so does the server. */
static void ask_and_be_answered_in_a_loop(struct story *s, int64_t us)
{
	leave_for(s, us - 500, 1, B, 0, CALL_POLL, 0);
	wake(s, us, 0, A, B, 1);
	leave_for(s, us + 1500, 1, B, 0, CALL_POLL, 0);
	leave_for(s, us + 2000, 0, A, 0, CALL_POLL, 0);
}

static void of_an_event_loop_it_is_unsure(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	talk_in_poll(&s);
	ask_and_be_answered_in_a_loop(&s, END + 1000);
	find(&s, END + 4000 * 1000, &found);
	assert_int_equal(found.late.n, 1);
	assert_true(found.late.v[0].unsure);
}

/* An X server draws for others when the question comes, seconds after it drew what this client sent: no answer is due. */
static void a_loop_that_runs_for_another_may_have_answered(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	talk_in_poll(&s);
	ask_and_be_answered_in_a_loop(&s, END + 1000);
	wake(&s, END + 3999 * 1000, 0, C, B, 1);
	end_story(&s, END + 4000 * 1000);
	thread(&s, B)->state = STATE_RUNNING;
	assert_int_equal(peer_requests_find(&s.trace, &found), 0);
	assert_int_equal(found.late.n, 0);
	assert_int_equal(found.assumed.n, 1);
	assert_int_equal(found.assumed.v[0].server, B);
}

/* How long its answers take is known all the same: until the server slept again. */
static void answers_that_find_a_loop_awake_are_known(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	for (int64_t i = 0; i < ROUNDS; i++)
		ask_and_be_answered_in_a_loop(&s, 1000 + i * ROUND);
	for (int64_t i = 0; i < ROUNDS; i++)
		ask_and_answer(&s, END + 1000 + i * ROUND, 1000);
	ask_and_be_answered_in_a_loop(&s, 2 * END + 1000);
	find(&s, 2 * END + 4000 * 1000, &found);
	assert_int_equal(found.late.n, 1);
	assert_int_equal(found.late.v[0].normally, 1500 * US);
}

/* The server does not sleep where it was asked. */
static void of_a_busy_server_it_is_sure(void **state)
{
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	talk_in_poll(&s);
	leave_for(&s, END + 500, 1, B, 0, CALL_POLL, 0);
	wake(&s, END + 1000, 0, A, B, 1);
	leave_for(&s, END + 1500, 1, B, 0, CALL_CHILD, 0);
	leave_for(&s, END + 2000, 0, A, 0, CALL_POLL, 0);
	find(&s, END + 4000 * 1000, &found);
	assert_int_equal(found.late.n, 1);
	assert_false(found.late.v[0].unsure);
}

static void the_next_request_of_an_event_loop_is_another_one(void **state)
{
	const int64_t next = END + 4000 * 1000;
	_cleanup_(peer_requests_free) struct peer_requests found = {};
	STORY(s);

	talk_in_poll(&s);
	ask_and_be_answered_in_a_loop(&s, END + 1000);
	ask_and_answer(&s, next, 2000);
	find(&s, next + 3000, &found);
	assert_int_equal(found.late.n, 0);
}

RUN_TESTS(cmocka_unit_test(an_answer_that_does_not_come_is_late), 
	  cmocka_unit_test(an_answer_that_came_late_is_late),
	  cmocka_unit_test(what_came_late_long_ago_is_over),
	  cmocka_unit_test(who_is_asked_no_more_waits_for_work), cmocka_unit_test(who_is_never_answered_waits_for_nothing),
	  cmocka_unit_test(answers_that_always_take_long_are_not_late), cmocka_unit_test(new_processes_are_known_by_their_names),
	  cmocka_unit_test(who_talked_before_is_not_known_by_name), cmocka_unit_test(by_one_direction_alone_nothing_is_late),
	  cmocka_unit_test(who_is_answered_awake_waits_no_more), cmocka_unit_test(the_next_request_is_another_one),
	  cmocka_unit_test(of_an_event_loop_it_is_unsure), cmocka_unit_test(a_loop_that_runs_for_another_may_have_answered), cmocka_unit_test(answers_that_find_a_loop_awake_are_known), cmocka_unit_test(of_a_busy_server_it_is_sure),
	  cmocka_unit_test(the_next_request_of_an_event_loop_is_another_one),
	  cmocka_unit_test(who_is_elsewhere_may_have_been_asked), cmocka_unit_test(who_sleeps_elsewhere_has_not_asked))
