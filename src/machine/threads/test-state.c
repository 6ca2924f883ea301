/* Every nanosecond in exactly one state, also at the edges and where events are missing. */
#include "machine/blame/wait-report.h"
#include "machine/threads/test-story.h"

#define STORY(s) _cleanup_(story_end) struct story s; story_begin(&s, 2); (void)state

static void a_sleep_ends_in_the_run_queue(void **state)
{
	STORY(s);
	cast_process(&s, A, "a");
	cast_process(&s, B, "b");
	leave_for(&s, 100, 0, A, B, CALL_PIPE, 7);
	wake(&s, 300, 0, B, A, 0);
	leave(&s, 350, 0, B, A, 0, WAIT_SLICE, CALL_NONE);
	tell(&s, 1000);
	assert_int_equal(in_state(&s, A, STATE_RUNNING), 99 + 650);
	assert_int_equal(in_state(&s, A, STATE_PEER), 200);
	assert_int_equal(in_state(&s, A, STATE_RUNNABLE), 50);
	assert_int_equal(in_state(&s, B, STATE_PREEMPTED_SLICE), 650);
	/* B stood in the queue when the trace began: nothing woke it */
	assert_int_equal(in_state(&s, B, STATE_RUNNABLE), 99);
}

static void each_kind_of_preemption(void **state)
{
	static const struct {
		uint8_t flags, call, state;
	} kinds[] = {{WAIT_SLICE, 0, STATE_PREEMPTED_SLICE}, {WAIT_ARRIVAL, 0, STATE_PREEMPTED_ARRIVAL},
		     {WAIT_CLASS, 0, STATE_PREEMPTED_CLASS}, {0, CALL_YIELD, STATE_YIELDED}, {0, 0, STATE_PREEMPTED_OTHER}};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		STORY(s);
		cast_process(&s, A, "a");
		cast_process(&s, B, "b");
		leave(&s, 100, 0, A, B, 0, kinds[i].flags, kinds[i].call);
		leave_for(&s, 400, 0, B, A, CALL_SLEEP, 0);
		tell(&s, 1000);
		assert_int_equal(in_state(&s, A, kinds[i].state), 300);
		assert_int_equal(in_state(&s, B, STATE_TIMER), 600);
	}
}

static void interrupts_are_stolen_from_who_runs(void **state)
{
	STORY(s);
	cast_process(&s, A, "a");
	leave_for(&s, 50, 0, 0, A, 0, 0);
	interrupt(&s, EVENT_IRQ, 200, 230, 0, A, 24);
	interrupt(&s, EVENT_IRQ, 320, 330, 0, A, 25); /* within the soft interrupt that ends later */
	interrupt(&s, EVENT_SOFTIRQ, 300, 400, 0, A, 3);
	leave_for(&s, 500, 0, A, 0, CALL_SLEEP, 0);
	interrupt(&s, EVENT_IRQ, 600, 640, 0, 0, 24); /* from none */
	tell(&s, 1000);
	assert_int_equal(in_state(&s, A, STATE_IRQ), 40);
	assert_int_equal(in_state(&s, A, STATE_SOFTIRQ), 90);
	assert_int_equal(in_state(&s, A, STATE_RUNNING), 450 - 130);
	assert_int_equal(charged(&s, A, FOR_INTERRUPT, BY_IRQ, 24), 30);
	assert_int_equal(charged(&s, A, FOR_INTERRUPT, BY_SOFTIRQ, 3), 90);
}

/* Both reported with the same reading of the clock: one wait was ended, and not the next one too. */
static void a_wakeup_comes_before_its_switch(void **state)
{
	STORY(s);
	cast_process(&s, A, "a");
	cast_process(&s, B, "b");
	cast_process(&s, C, "c");
	leave_for(&s, 100, 0, A, B, CALL_PIPE, 7);
	leave(&s, 300, 0, B, A, 0, WAIT_ARRIVAL, 0);
	leave_for(&s, 400, 0, A, B, CALL_PIPE, 7);
	leave_for(&s, 200, 1, 0, C, 0, 0);
	wake(&s, 300, 1, C, A, 0);
	tell(&s, 1000);
	assert_int_equal(s.line.faults.no_waker, 0);
	assert_int_equal(in_state(&s, A, STATE_RUNNABLE), 0);
	assert_int_equal(in_state(&s, A, STATE_PEER), 200 + 600);
}

static void an_early_waking_is_kept(void **state)
{
	STORY(s);
	cast_process(&s, A, "a");
	cast_process(&s, B, "b");
	leave_for(&s, 50, 0, 0, A, 0, 0);
	wake(&s, 100, 1, B, A, 0); /* called while A still was on its way off the CPU */
	leave_for(&s, 101, 0, A, 0, CALL_PIPE, 3);
	leave_for(&s, 140, 0, 0, A, 0, 0);
	tell(&s, 1000);
	/* before 50 the CPU was idle, so A cannot have stood in its queue: nothing is known of it */
	assert_int_equal(in_state(&s, A, STATE_UNKNOWN), 49);
	assert_int_equal(in_state(&s, A, STATE_RUNNABLE), 39);
	assert_int_equal(in_state(&s, A, STATE_PEER), 0);
	assert_int_equal(s.line.faults.no_waker, 0);
}

static void a_waking_that_found_it_running_ends_no_later_wait(void **state)
{
	STORY(s);
	cast_process(&s, A, "a");
	leave_for(&s, 50, 0, 0, A, 0, 0);
	wake_in(&s, 100, 1, B, A, 0, WAKEUP_STILL_QUEUED, 0);
	leave_for(&s, 101, 0, A, 0, CALL_PIPE, 3);
	tell(&s, 1000);
	assert_int_equal(in_state(&s, A, STATE_PEER), 899);
}

static void quota_is_the_first_part_of_the_wait(void **state)
{
	STORY(s);
	cast_process(&s, A, "a");
	cast_process(&s, B, "b");
	leave(&s, 100, 0, A, B, 0, WAIT_QUOTA, 0);
	say(&s, (struct event){.kind = EVENT_QUOTA, .thread = A, .quota = {.took = 250 * US, .group = 9}}, 400);
	leave(&s, 400, 0, B, A, 0, WAIT_SLICE, 0);
	tell(&s, 1000);
	assert_int_equal(in_state(&s, A, STATE_QUOTA), 250);
	assert_int_equal(in_state(&s, A, STATE_RUNNABLE), 50);
	assert_int_equal(charged(&s, A, FOR_CPU, BY_TASK, B), 50);
	assert_int_equal(charged(&s, A, FOR_QUOTA, BY_QUOTA, NOBODY), 250);
}

static void silent_threads_have_the_state_they_were_found_in(void **state)
{
	struct trace_thread epoll = {.tid = A, .tgid = A, .comm = "server", .state = STATE_IDLE};
	struct trace_thread hog = {.tid = B, .tgid = B, .comm = "hog", .state = STATE_RUNNING, .cpu = 1};
	struct trace_thread late = {.tid = C, .tgid = C, .comm = "late", .state = STATE_PEER, .state_since = 400 * US};

	STORY(s);
	trace_add_thread(&s.trace, &epoll);
	trace_add_thread(&s.trace, &hog);
	trace_add_thread(&s.trace, &late);
	cast_process(&s, D, "d");
	leave_for(&s, 50, 0, 0, D, 0, 0);
	tell(&s, 1000);
	assert_int_equal(s.line.threads.v[who(&s, A)].intervals.n, 1);
	assert_int_equal(in_state(&s, A, STATE_IDLE), 999);
	assert_int_equal(in_state(&s, B, STATE_RUNNING), 999);
	assert_int_equal(s.line.cpus.v[1].segments.v[0].who, who(&s, B));
	assert_int_equal(in_state(&s, C, STATE_UNKNOWN), 399);
	assert_int_equal(in_state(&s, C, STATE_PEER), 600);
	/* an idle event loop has not waited */
	for (int w = 0; w < FOR_COUNT; w++)
		assert_int_equal(waited(&s, A, (enum wait_for)w), 0);
}

static void a_wait_that_was_woken_for_nothing_is_one(void **state)
{
	STORY(s);
	cast_thread(&s, A, 100, "a", 0);
	cast_thread(&s, B, 100, "b", 0);
	wait_lock(&s, 100, 0, A, 0, 0x1000, B);
	wake(&s, 200, 1, B, A, 0);
	leave_for(&s, 201, 0, 0, A, 0, 0);
	wait_lock(&s, 205, 0, A, 0, 0x1000, B);
	wake(&s, 500, 1, B, A, 0);
	leave_for(&s, 510, 0, 0, A, 0, 0);
	tell(&s, 1000);
	assert_true(s.line.threads.v[who(&s, A)].intervals.v[1].flags & INTERVAL_RETRY);
	assert_int_equal(in_state(&s, A, STATE_LOCK), 395);
	assert_int_equal(in_state(&s, A, STATE_RUNNABLE), 11);
}

static void a_queue_wait_is_split_where_the_thread_was_moved(void **state)
{
	STORY(s);
	cast_process(&s, A, "a");
	cast_process(&s, B, "b");
	cast_process(&s, C, "c");
	leave_for(&s, 10, 0, 0, B, 0, 0);
	leave_for(&s, 10, 1, 0, C, 0, 0);
	wake(&s, 100, 0, B, A, 0);
	say(&s, (struct event){.kind = EVENT_MIGRATE, .thread = A, .migrate = {.by = B, .from = 0, .to = 1}}, 160);
	leave(&s, 200, 1, C, A, 0, WAIT_SLICE, 0);
	tell(&s, 1000);
	assert_int_equal(charged(&s, A, FOR_CPU, BY_TASK, B), 60);
	assert_int_equal(charged(&s, A, FOR_CPU, BY_TASK, C), 40);
}

static void lost_switches_are_counted_and_survived(void **state)
{
	STORY(s);
	cast_process(&s, A, "a");
	cast_process(&s, B, "b");
	leave_for(&s, 100, 0, 0, A, 0, 0);
	leave_for(&s, 300, 0, B, 0, CALL_SLEEP, 0); /* A left, B came: not recorded */
	tell(&s, 1000);
	assert_int_equal(s.line.faults.broken_switches, 1);
	assert_int_equal(in_state(&s, A, STATE_UNKNOWN), 99 + 700);
	assert_int_equal(in_state(&s, B, STATE_TIMER), 700);
}

/* All are woken while D runs, and nothing more is reported of them; only C is still queued at the freeze. */
static void nobody_queues_beyond_what_is_known_of_him(void **state)
{
	struct trace_thread gone = {.tid = A, .tgid = A, .comm = "gone", .end = 300 * US, .flags = THREAD_HAS_ENDED, .state = STATE_ENDED};
	struct trace_thread asleep = {.tid = B, .tgid = B, .comm = "asleep", .state = STATE_TIMER, .state_since = 100 * US};
	struct trace_thread queued = {.tid = C, .tgid = C, .comm = "queued", .state = STATE_RUNNABLE, .state_since = 100 * US};
	struct trace_thread polls = {.tid = E, .tgid = E, .comm = "polls", .state = STATE_TIMER, .state_since = 600 * US};

	STORY(s);
	trace_add_thread(&s.trace, &polls);
	trace_add_thread(&s.trace, &gone);
	trace_add_thread(&s.trace, &asleep);
	trace_add_thread(&s.trace, &queued);
	cast_process(&s, D, "d");
	leave_for(&s, 50, 0, 0, D, 0, 0);
	for (uint32_t who = A; who <= C; who++)
		wake_in(&s, 100, 0, D, who, 0, 0, 0);
	wake_in(&s, 100, 0, D, E, 0, 0, 0);
	tell(&s, 1000);
	assert_int_equal(in_state(&s, E, STATE_RUNNABLE), 0);
	assert_int_equal(in_state(&s, E, STATE_TIMER), 400 + 99); /* and before it was woken */
	assert_int_equal(in_state(&s, A, STATE_RUNNABLE) + in_state(&s, B, STATE_RUNNABLE), 0);
	assert_int_equal(in_state(&s, A, STATE_UNKNOWN), 200);
	assert_int_equal(in_state(&s, B, STATE_UNKNOWN), 900);
	assert_int_equal(in_state(&s, C, STATE_RUNNABLE), 900);
}

/* Their last switches are not recorded. */
static void nobody_waits_until_he_ends(void **state)
{
	struct trace_thread known_end = {.tid = A, .tgid = A, .comm = "a", .end = 300 * US, .flags = THREAD_HAS_ENDED, .state = STATE_ENDED};
	struct trace_thread some_end = {.tid = B, .tgid = B, .comm = "b", .flags = THREAD_HAS_ENDED};

	STORY(s);
	trace_add_thread(&s.trace, &known_end);
	trace_add_thread(&s.trace, &some_end);
	cast_process(&s, C, "c");
	leave_for(&s, 50, 0, 0, A, 0, 0);
	leave(&s, 100, 0, A, B, TASK_STATE_BLOCKED, 0, 0);
	leave(&s, 200, 0, B, C, TASK_STATE_BLOCKED, 0, 0);
	tell(&s, 1000);
	assert_int_equal(in_state(&s, A, STATE_UNKNOWN), 49 + 200);
	assert_int_equal(in_state(&s, A, STATE_RUNNING), 50);
	assert_int_equal(in_state(&s, B, STATE_RUNNING), 100);
	assert_int_equal(in_state(&s, A, STATE_OTHER) + in_state(&s, B, STATE_OTHER), 0);
}

static void a_reused_number_is_another_thread(void **state)
{
	struct trace_thread first = {.tid = A, .tgid = A, .comm = "first", .end = 300 * US, .flags = THREAD_HAS_ENDED};
	struct trace_thread second = {.tid = A, .tgid = A, .comm = "second", .start = 500 * US, .state = STATE_TIMER};

	STORY(s);
	trace_add_thread(&s.trace, &first);
	trace_add_thread(&s.trace, &second);
	leave_for(&s, 100, 0, 0, A, 0, 0);
	leave(&s, 300, 0, A, 0, TASK_STATE_ENDED, 0, 0);
	wake_in(&s, 510, 0, 1, A, 0, WAKEUP_NEW, 0);
	leave_for(&s, 520, 0, 0, A, 0, 0);
	leave_for(&s, 600, 0, A, 0, CALL_SLEEP, 0);
	tell(&s, 1000);
	assert_string_equal(s.line.threads.v[who(&s, A)].comm, "first");
	assert_int_equal(in_state(&s, A, STATE_RUNNING), 200);
	assert_int_equal(s.line.threads.v[who(&s, A) + 1].intervals.v[0].start, 510 * US);
}

/* Anything may stand in a record that a damaged trace gives: nothing crashes, and every sum still holds. */
static void any_trace_is_survived(void **state)
{
	uint64_t seed = 42;

	for (int round = 0; round < 300; round++) {
		_cleanup_(story_end) struct story s;

		story_begin(&s, 3);
		for (uint32_t tid = 1; tid < 9; tid++)
			cast_thread(&s, tid, tid & ~1u, "x", tid == 7 ? THREAD_IS_KERNEL : 0);
		for (int i = 0; i < 400; i++) {
			struct event e = {.kind = (uint8_t)(i % (EVENT_KIND_END + 2))};

			for (size_t k = 0; k < sizeof(e.word) / 8; k++) {
				seed = seed * 6364136223846793005ull + 1442695040888963407ull;
				e.word[k] = round % 3 ? seed >> 33 & 0x0003000700030007ull : seed;
			}
			if (round % 3 == 1 && e.kind == EVENT_SWITCH)
				e.out.next &= 15;
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			e.thread = (uint32_t)((seed >> 40) % 12);
			e.cpu = (uint16_t)((seed >> 50) % 3);
			e.flags = (uint8_t)(seed >> 8);
			if (e.kind == EVENT_IRQ || e.kind == EVENT_SOFTIRQ)
				e.interrupt.took &= 0xffff;
			say(&s, e, 1 + i + (int64_t)(seed >> 60));
		}
		tell(&s, 450);
		assert_true(s.line.threads.n >= 8);
	}
}

/* The profile tells how much of its running time a thread spent in the kernel. */
static void samples_split_running_time(void **state)
{
	_cleanup_(story_end) struct story s;
	struct wait_report r;

	story_begin(&s, 1);
	cast_thread(&s, A, 100, "a", 0);
	leave_for(&s, 1, 0, 0, A, 0, 0);
	for (int i = 0; i < 8; i++)
		say(&s, (struct event){.kind = EVENT_SAMPLE, .thread = A, .flags = i % 4 ? SAMPLE_USER : 0}, 100 + i * 100);
	tell(&s, 1000);
	wait_report_init(&r, s.line.start, 450 * US);
	wait_report_add(&r, &s.line.threads.v[who(&s, A)]);
	assert_int_equal(r.samples, 4);
	assert_int_equal(r.user_samples, 3);
}

RUN_TESTS(cmocka_unit_test(samples_split_running_time), cmocka_unit_test(a_sleep_ends_in_the_run_queue), cmocka_unit_test(each_kind_of_preemption),
	  cmocka_unit_test(interrupts_are_stolen_from_who_runs), cmocka_unit_test(a_wakeup_comes_before_its_switch), cmocka_unit_test(an_early_waking_is_kept),
	  cmocka_unit_test(a_waking_that_found_it_running_ends_no_later_wait),
	  cmocka_unit_test(quota_is_the_first_part_of_the_wait),
	  cmocka_unit_test(silent_threads_have_the_state_they_were_found_in),
	  cmocka_unit_test(a_wait_that_was_woken_for_nothing_is_one),
	  cmocka_unit_test(a_queue_wait_is_split_where_the_thread_was_moved),
	  cmocka_unit_test(lost_switches_are_counted_and_survived), cmocka_unit_test(a_reused_number_is_another_thread),
  cmocka_unit_test(nobody_queues_beyond_what_is_known_of_him), cmocka_unit_test(nobody_waits_until_he_ends),
	  cmocka_unit_test(any_trace_is_survived))
