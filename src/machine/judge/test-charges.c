/* Events and the recording's programs brought together: who is charged, by program, and who is left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine/threads/test-story.h"

#include "lib/data/clock.h"
#include "machine/judge/charges.h"

#define SECONDS 10
#define S	1000000ll /* us */

/* Two seconds' ticks of wall time = monotonic time, and a process for each name. */
static void record(struct dataset *d)
{
	static const struct {
		uint32_t pid;
		const char *exe;
	} processes[] = {{100, "/bin/victim"}, {C, "/bin/hog"}, {D, "/bin/nice"}, {A, "/bin/shell"}, {B, "/bin/child"}};

	*d = (struct dataset){};
	for (int i = 0; i <= SECONDS; i++)
		assert_true(dataset_add_tick(d, (i + 1) * NS_PER_SEC, (i + 1) * NS_PER_SEC, NS_PER_SEC) >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
		struct entity_info info = {.id = (uint32_t)i + 1, .kind = ENTITY_PROCESS, .pid = processes[i].pid,
					   .name = (char *)processes[i].exe + 5, .exe = (char *)processes[i].exe};
		struct subject *s = dataset_define(d, &info);

		s->first = 0;
		s->last = SECONDS;
	}
}

static const char *program(const struct dataset *d, uint32_t id)
{
	return dataset_subject(d, id)->program;
}

/* B holds the lock that A wants (both are threads of 100) and is preempted by C; D, which is niced, waits for C, too. */
static void act(struct story *s)
{
	struct trace_thread nice = {.tid = D, .tgid = D, .ns_tid = D, .ns_tgid = D, .prio = 139, .comm = "nice"};

	story_begin(s, 2);
	cast_thread(s, A, 100, "a", 0);
	cast_thread(s, B, 100, "b", 0);
	cast_process(s, C, "hog");
	assert_int_equal(trace_add_thread(&s->trace, &nice), 0);
	leave_for(s, 1, 0, 0, A, 0, 0);
	leave_for(s, 1, 1, 0, B, 0, 0);
	wait_lock(s, S, 0, A, 0, 0x1000, B);
	wake(s, 2 * S - 1, 1, B, D, 1);
	leave(s, 2 * S, 1, B, C, 0, WAIT_ARRIVAL, 0);
	leave(s, 8 * S, 1, C, B, 0, WAIT_SLICE, 0);
	wake(s, 9 * S, 1, B, A, 0);
	leave_for(s, 9 * S, 0, 0, A, 0, 0);
	tell(s, SECONDS * S);
}

static double seconds(const struct charges *c, double per_second)
{
	return per_second * c->covered;
}

static void the_one_at_the_end_of_the_chain_is_charged(void **state)
{
	_cleanup_(charges_free) struct charges c = {};
	_cleanup_(story_end) struct story s;
	struct dataset d;

	act(&s);
	record(&d);
	assert_int_equal(charges_of_trace(&s.trace, &d, 0, SECONDS - 1, &c), 0);
	assert_true(fabs(c.covered - SECONDS) < 0.01);
	/* A's lock and B's own CPU, 6 s each; not what D waited */
	assert_true(fabs(seconds(&c, charges_against(&c, program(&d, 2), BOTTLENECK_CPU)) - 12) < 0.01);
	/* its own lock, while B ran 2 s: a fifth counts */
	assert_true(fabs(seconds(&c, charges_against(&c, program(&d, 1), BOTTLENECK_LOCK)) - 0.4) < 0.01);
	assert_true(charges_against(&c, program(&d, 3), BOTTLENECK_CPU) <= 0);
	dataset_free(&d);
}

/* The recorder answers because somebody asks: what it waits is nobody's trouble. */
static void what_the_recorder_waits_is_not_charged(void **state)
{
	_cleanup_(charges_free) struct charges c = {};
	_cleanup_(story_end) struct story s;
	struct dataset d;

	act(&s);
	record(&d);
	for (size_t i = 0; i < s.trace.threads.n; i++)
		if (s.trace.threads.v[i].tgid == 100)
			s.trace.threads.v[i].flags |= THREAD_IS_SELF;
	assert_int_equal(trace_finish(&s.trace), 0);
	assert_int_equal(charges_of_trace(&s.trace, &d, 0, SECONDS - 1, &c), 0);
	for (size_t i = 0; i < c.list.n; i++)
		assert_null(strstr(c.list.v[i].victim, "victim"));
	dataset_free(&d);
}

/* So does a command that asks: it waits for the culprit as all do, and its user does not want to know of that. */
static void what_a_command_that_asks_waits_is_not_charged(void **state)
{
	_cleanup_(charges_free) struct charges c = {};
	_cleanup_(story_end) struct story s;
	struct subject *asker;
	struct dataset d;

	act(&s);
	record(&d);
	asker = dataset_subject(&d, 1);
	free(asker->info.name);
	asker->info.name = strdup("whyslow");
	assert_int_equal(charges_of_trace(&s.trace, &d, 0, SECONDS - 1, &c), 0);
	for (size_t i = 0; i < c.list.n; i++)
		assert_null(strstr(c.list.v[i].victim, "victim"));
	dataset_free(&d);
}

static void a_trace_of_another_time_says_nothing(void **state)
{
	_cleanup_(charges_free) struct charges c = {};
	_cleanup_(story_end) struct story s;
	struct dataset d;

	act(&s);
	record(&d);
	s.trace.wall_offset = 3600 * NS_PER_SEC;
	assert_int_equal(charges_of_trace(&s.trace, &d, 0, SECONDS - 1, &c), 0);
	assert_int_equal(c.list.n, 0);
	assert_true(c.covered <= 0);
	dataset_free(&d);
}

/* C lets A go on for half of each second, so many times. */
static void hold_back(struct story *s, int times)
{
	story_begin(s, 2);
	cast_thread(s, A, 100, "a", 0);
	cast_process(s, C, "hog");
	leave_for(s, 1, 0, 0, A, 0, 0);
	leave_for(s, 1, 1, 0, C, 0, 0);
	for (int i = 0; i < times; i++) {
		leave(s, i * S + S / 2, 0, A, 0, TASK_STATE_STOPPED, 0, 0);
		wake(s, (i + 1) * S, 1, C, A, 0);
		leave_for(s, (i + 1) * S, 0, 0, A, 0, 0);
	}
	tell(s, SECONDS * S);
}

static void stops(int times, double expected)
{
	_cleanup_(charges_free) struct charges c = {};
	_cleanup_(story_end) struct story s;
	struct dataset d;
	double rested;

	hold_back(&s, times);
	record(&d);
	assert_int_equal(charges_of_trace(&s.trace, &d, 0, SECONDS - 1, &c), 0);
	assert_true(fabs(seconds(&c, charges_by(&c, program(&d, 2), CHARGE_STOPPED, &rested)) - expected) < 0.01);
	assert_true(fabs(seconds(&c, charges_against(&c, program(&d, 2), BOTTLENECK_LOCK)) - expected) < 0.01);
	dataset_free(&d);
}

/* A and C, of another program, each run on a CPU of their own. */
static void begin_with_two(struct story *s)
{
	story_begin(s, 2);
	cast_thread(s, A, 100, "a", 0);
	cast_process(s, C, "hog");
	leave_for(s, 1, 0, 0, A, 0, 0);
	leave_for(s, 1, 1, 0, C, 0, 0);
}

/* A writes to C, who sleeps from the seventh second to the ninth, and before that for half a second. */
static void who_sleeps_instead_of_reading_is_charged(void **state)
{
	_cleanup_(charges_free) struct charges c = {};
	_cleanup_(story_end) struct story s;
	struct dataset d;
	double rested;

	begin_with_two(&s);
	for (int i = 0; i < 2; i++) {
		int64_t from = i ? 7 * S : 2 * S, to = i ? 9 * S : 2 * S + S / 2;

		leave_for(&s, from, 1, C, 0, CALL_SLEEP, 0);
		leave_in(&s, from, 0, A, 0, CALL_PIPE, 1);
		wake_in(&s, to, 1, 0, C, 1, WAKEUP_IN_IRQ, EVENT_TIMER_VECTOR);
		leave_for(&s, to, 1, 0, C, 0, 0);
		wake(&s, to + 1, 1, C, A, 0);
		leave_for(&s, to + 1, 0, 0, A, 0, 0);
	}
	tell(&s, SECONDS * S);
	record(&d);
	assert_int_equal(charges_of_trace(&s.trace, &d, 5, SECONDS - 1, &c), 0);
	assert_true(fabs(seconds(&c, charges_by(&c, program(&d, 2), CHARGE_UNREAD, &rested)) - 2) < 0.01);
	assert_true(fabs(seconds(&c, rested) - 2) < 0.01);
	assert_string_equal(charges_victim(&c, program(&d, 2), BOTTLENECK_PEER), program(&d, 1));
	assert_true(fabs(c.list.v[0].before - 0.1) < 0.01);
	dataset_free(&d);
}

/* A asks C, again and again, and is answered each time, for six seconds; at last it has just asked. */
static void ask_again_and_again(struct story *s)
{
	begin_with_two(s);
	leave_for(s, S, 1, C, 0, CALL_POLL, 0);
	for (int64_t at = S; at < 6 * S; at += S / 5) {
		wake(s, at + 10, 0, A, C, 1);
		leave_for(s, at + 10, 1, 0, C, 0, 0);
		leave_for(s, at + 20, 0, A, 0, CALL_POLL, 0);
		wake(s, at + 30, 1, C, A, 0);
		leave_for(s, at + 30, 0, 0, A, 0, 0);
		leave_for(s, at + 40, 1, C, 0, CALL_POLL, 0);
	}
	wake(s, 6 * S - 20, 0, A, C, 1);
	leave_for(s, 6 * S - 20, 1, 0, C, 0, 0);
}

/* Then C wants the lock of a file, which D has: by the freeze, as no event says so. C is no culprit. */
static void who_has_the_lock_that_the_server_wants_is_charged(void **state)
{
	_cleanup_(charges_free) struct charges c = {};
	_cleanup_(story_end) struct story s;
	struct dataset d;
	double rested;

	ask_again_and_again(&s);
	cast_process(&s, D, "nice");
	leave_for(&s, 6 * S, 1, C, D, CALL_FILE_LOCK, 0);
	leave_for(&s, 6 * S, 0, A, 0, CALL_POLL, 0);
	leave_for(&s, 6 * S + 10, 1, D, 0, CALL_SLEEP, 0);
	for (size_t i = 0; i < s.trace.threads.n; i++)
		if (s.trace.threads.v[i].tid == C)
			s.trace.threads.v[i].owner = D;
	tell(&s, SECONDS * S);
	record(&d);
	assert_int_equal(charges_of_trace(&s.trace, &d, 5, SECONDS - 1, &c), 0);
	assert_true(fabs(seconds(&c, charges_by(&c, program(&d, 3), CHARGE_UNANSWERED, &rested)) - 4) < 0.01);
	assert_string_equal(charges_victim(&c, program(&d, 3), BOTTLENECK_PEER), program(&d, 1));
	assert_true(charges_by(&c, program(&d, 2), CHARGE_UNANSWERED, &rested) <= 0);
	dataset_free(&d);
}

/* In the sixth second C is stopped. */
static void who_is_stopped_and_used_to_answer_is_charged(void **state)
{
	_cleanup_(charges_free) struct charges c = {};
	_cleanup_(story_end) struct story s;
	struct dataset d;
	double rested;

	ask_again_and_again(&s);
	leave(&s, 6 * S, 1, C, 0, TASK_STATE_STOPPED, 0, 0);
	leave_for(&s, 6 * S, 0, A, 0, CALL_POLL, 0);
	tell(&s, SECONDS * S);
	record(&d);
	assert_int_equal(charges_of_trace(&s.trace, &d, 5, SECONDS - 1, &c), 0);
	assert_true(fabs(seconds(&c, charges_by(&c, program(&d, 2), CHARGE_UNANSWERED, &rested)) - 4) < 0.01);
	assert_string_equal(charges_victim(&c, program(&d, 2), BOTTLENECK_PEER), program(&d, 1));
	assert_true(c.list.v[0].before <= 0);
	dataset_free(&d);
}

static void who_stops_another_again_and_again_is_charged(void **state)
{
	stops(6, 3);
}

static void who_stops_another_twice_is_not(void **state)
{
	stops(2, 0);
}

/* A shell waits for its child, which C keeps from the CPU for six seconds; at last it has just asked. */
static void what_a_child_waits_is_not_its_parents_as_well(void **state)
{
	_cleanup_(charges_free) struct charges c = {};
	_cleanup_(story_end) struct story s;
	struct dataset d;

	story_begin(&s, 2);
	cast_process(&s, A, "shell");
	cast_process(&s, B, "child");
	cast_process(&s, C, "hog");
	leave_for(&s, 1, 0, 0, A, 0, 0);
	leave_for(&s, 1, 1, 0, B, 0, 0);
	leave_for(&s, S, 0, A, 0, CALL_CHILD, 0);
	leave(&s, 2 * S, 1, B, C, 0, WAIT_ARRIVAL, 0);
	leave(&s, 8 * S, 1, C, B, 0, WAIT_SLICE, 0);
	wake(&s, 9 * S, 1, B, A, 0);
	leave_for(&s, 9 * S, 0, 0, A, 0, 0);
	tell(&s, SECONDS * S);
	record(&d);
	assert_int_equal(charges_of_trace(&s.trace, &d, 0, SECONDS - 1, &c), 0);
	assert_true(fabs(seconds(&c, charges_against(&c, program(&d, 2), BOTTLENECK_CPU)) - 6) < 0.01);
	dataset_free(&d);
}

/* More than are charged at once, all in the queue of the CPU that C has from the second second to the eighth. */
static void thousands_that_wait_are_all_charged_for(void **state)
{
	const uint32_t crowd = 2500;
	_cleanup_(charges_free) struct charges c = {};
	_cleanup_(story_end) struct story s;
	struct dataset d;

	story_begin(&s, 2);
	cast_process(&s, C, "hog");
	for (uint32_t i = 0; i < crowd; i++)
		cast_thread(&s, 1000 + i, 100, "crowd", 0);
	leave_for(&s, 1, 1, 0, A, 0, 0);
	leave_for(&s, 2, 0, 0, B, 0, 0);
	for (uint32_t i = 0; i < crowd; i++)
		wake(&s, S, 0, B, 1000 + i, 1);
	leave(&s, 2 * S, 1, A, C, 0, WAIT_SLICE, 0);
	leave(&s, 8 * S, 1, C, A, 0, WAIT_SLICE, 0);
	tell(&s, SECONDS * S);
	record(&d);
	assert_int_equal(charges_of_trace(&s.trace, &d, 0, SECONDS - 1, &c), 0);
	assert_true(fabs(seconds(&c, charges_against(&c, program(&d, 2), BOTTLENECK_CPU)) - 6.0 * crowd) < 0.01 * crowd);
	dataset_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_one_at_the_end_of_the_chain_is_charged),
		cmocka_unit_test(what_a_command_that_asks_waits_is_not_charged),
		cmocka_unit_test(who_sleeps_instead_of_reading_is_charged),
		cmocka_unit_test(who_is_stopped_and_used_to_answer_is_charged),
		cmocka_unit_test(who_has_the_lock_that_the_server_wants_is_charged),
		cmocka_unit_test(who_stops_another_again_and_again_is_charged),
		cmocka_unit_test(who_stops_another_twice_is_not),
		cmocka_unit_test(what_a_child_waits_is_not_its_parents_as_well),
		cmocka_unit_test(what_the_recorder_waits_is_not_charged),
		cmocka_unit_test(a_trace_of_another_time_says_nothing),
		cmocka_unit_test(thousands_that_wait_are_all_charged_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
