/* Who sleeps as it did not before: sleep by sleep. */
#include "machine/threads/test-story.h"

#include "machine/blame/new-sleepers.h"

#define SECOND (1000 * 1000ll)
#define END    (40 * SECOND)

static int64_t begins = 1; /* s: the first event */

static void sleep_for(struct story *s, uint32_t thread, int64_t us, int64_t took)
{
	leave_for(s, us, 0, thread, 0, CALL_SLEEP, 0);
	wake_in(s, us + took, 0, 0, thread, 0, WAKEUP_IN_IRQ, EVENT_TIMER_VECTOR);
}

/* A sleeps for 30 ms each second, and lately for `took` us; B for a second, ever; C for 10 ms, and lately for `other` us. */
static void tell_of_two(struct story *s, int64_t took, int64_t other)
{
	story_begin(s, 1);
	cast_process(s, A, "delivery");
	cast_process(s, B, "clock");
	cast_process(s, C, "backup");
	for (int64_t i = begins; i < 40; i++) {
		sleep_for(s, A, i * SECOND, i < 34 ? 30000 : took);
		sleep_for(s, B, i * SECOND - SECOND / 2, SECOND - 10);
		sleep_for(s, C, i * SECOND, i < 34 ? 10000 : other);
	}
	s->trace.from = (uint64_t)(begins == 1 ? 1 : (begins * SECOND - 50000) * US);
	s->trace.to = s->trace.frozen = (uint64_t)(END * US);
	assert_int_equal(trace_finish(&s->trace), 0);
	for (size_t i = 0; i < s->trace.threads.n; i++) {
		s->trace.threads.v[i].state = STATE_TIMER;
		s->trace.threads.v[i].facts.call = CALL_SLEEP;
		s->trace.threads.v[i].state_since = (uint64_t)((END - 20000) * US);
	}
}

static void tell_of_sleeps(struct story *s, int64_t took)
{
	tell_of_two(s, took, 10000);
}

static void who_sleeps_longer_than_before(void **state)
{
	struct new_sleepers found = {};
	struct story s;

	tell_of_sleeps(&s, 200 * 1000);
	assert_int_equal(new_sleepers_find(&s.trace, &found), 0);
	assert_int_equal(found.list.n, 1);
	assert_true(found.list.v[0].since == (uint64_t)(30 * SECOND * US));
	assert_int_equal(s.trace.threads.v[found.list.v[0].thread].tid, A);
	new_sleepers_free(&found);
	story_end(&s);
}

static void who_sleeps_as_long_as_ever(void **state)
{
	struct new_sleepers found = {};
	struct story s;

	tell_of_sleeps(&s, 30 * 1000);
	assert_int_equal(new_sleepers_find(&s.trace, &found), 0);
	assert_int_equal(found.list.n, 0);
	story_end(&s);
}

/* Events of 3 s know nothing of it: the kernel's sums do. */
static void a_sleep_of_before_the_events_counts(void **state)
{
	struct new_sleepers found = {};
	struct story s;

	tell_of_sleeps(&s, 200 * 1000);
	for (size_t i = 0; i < s.trace.threads.n; i++)
		s.trace.threads.v[i].slept_before = 150 * 1000 * US;
	assert_int_equal(new_sleepers_find(&s.trace, &found), 0);
	assert_int_equal(found.list.n, 0);
	story_end(&s);
}

/* Events of 4 s begin when it slept so already: nothing says since when. */
static void since_before_the_events(void **state)
{
	struct new_sleepers found = {};
	struct story s;

	begins = 36;
	tell_of_sleeps(&s, 200 * 1000);
	begins = 1;
	for (size_t i = 0; i < s.trace.threads.n; i++)
		s.trace.threads.v[i].slept_before = (s.trace.threads.v[i].tid == A ? 30 : 1000) * 1000 * US;
	assert_int_equal(new_sleepers_find(&s.trace, &found), 0);
	assert_int_equal(found.list.n, 1);
	assert_true(found.list.v[0].since == (uint64_t)(30 * SECOND * US));
	new_sleepers_free(&found);
	story_end(&s);
}

static void whose_sleeps_have_grown_most_is_first(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct new_sleepers found = {};
		struct story s;

		tell_of_two(&s, i ? 200 * 1000 : 900 * 1000, i ? 900 * 1000 : 200 * 1000);
		assert_int_equal(new_sleepers_find(&s.trace, &found), 0);
		assert_int_equal(found.list.n, 2);
		assert_int_equal(s.trace.threads.v[found.list.v[0].thread].tid, i ? C : A);
		assert_int_equal(found.list.v[0].longer, (i ? 890 : 870) * 1000 * US);
		new_sleepers_free(&found);
		story_end(&s);
	}
}

RUN_TESTS(cmocka_unit_test(who_sleeps_longer_than_before), cmocka_unit_test(who_sleeps_as_long_as_ever),
	  cmocka_unit_test(a_sleep_of_before_the_events_counts), cmocka_unit_test(since_before_the_events),
	  cmocka_unit_test(whose_sleeps_have_grown_most_is_first))
