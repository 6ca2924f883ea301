/* Who had the CPU, of events that a test puts together: every nanosecond is a thread's, an interrupt's or idle. */
#include "machine/threads/test-story.h"

#include "machine/threads/cpu-sums.h"

static const struct cpu_row *row_of(const struct cpu_report *r, uint32_t tid)
{
	for (size_t i = 0; i < r->threads.n; i++)
		if (r->threads.v[i].thread == tid)
			return &r->threads.v[i];
	fail_msg("no thread %u", tid);
	return NULL;
}

/* A runs from 0 to 10 ms, but for an interrupt of 1 ms; B waits for it from 2 ms on and runs from 10 to 16; then no one runs until 20. */
static void begin(struct story *s)
{
	story_begin(s, 1);
	cast_process(s, A, "a");
	cast_process(s, B, "b");
	leave(s, 1, 0, 0, A, 0, 0, 0);
	wake(s, 2000, 0, A, B, 0);
	interrupt(s, EVENT_IRQ, 4000, 5000, 0, A, 17);
	leave(s, 10000, 0, A, B, TASK_STATE_SLEEPS, 0, CALL_POLL);
	leave(s, 16000, 0, B, 0, TASK_STATE_SLEEPS, 0, CALL_POLL);
	tell(s, 20000);
}

static void all_of_a_trace_adds_up(void **state)
{
	_cleanup_(cpu_report_free) struct cpu_report r = {};
	struct story s;

	begin(&s);
	assert_int_equal(cpu_sums_make(&s.line, 1000 * US, 20000 * US, &r), 0);
	assert_int_equal(r.n_cpus, 1);
	assert_int_equal(row_of(&r, A)->ran, 8 * MS);
	assert_int_equal(row_of(&r, A)->stolen, 1 * MS);
	assert_int_equal(row_of(&r, A)->imposed, 7 * MS); /* of B's 8 ms the interrupt had one */
	assert_int_equal(row_of(&r, B)->waited, 8 * MS);
	assert_int_equal(row_of(&r, B)->ran, 6 * MS);
	assert_int_equal(r.idle, 4 * MS);
	assert_int_equal(r.interrupted, 1 * MS);
	assert_string_equal(r.interrupts.v[0].name, cpu_irq_device);
	assert_int_equal(r.ran + r.idle + r.interrupted, 19 * MS);
	assert_int_equal(r.unknown, 0);
	assert_string_equal(r.processes.v[0].name, "a");
	assert_int_equal(r.steal, CPU_STEAL_UNKNOWN);
	assert_true(r.queue > 1.20 && r.queue < 1.22); /* 23 ms of 19 */
	story_end(&s);
}

static void a_part_of_it_adds_up(void **state)
{
	_cleanup_(cpu_report_free) struct cpu_report r = {};
	struct story s;

	begin(&s);
	assert_int_equal(cpu_sums_make(&s.line, 9000 * US, 17000 * US, &r), 0);
	assert_int_equal(row_of(&r, A)->ran, 1 * MS);
	assert_int_equal(row_of(&r, B)->waited, 1 * MS);
	assert_int_equal(row_of(&r, B)->ran, 6 * MS);
	assert_int_equal(r.idle, 1 * MS);
	assert_int_equal(r.unknown, 0);
	assert_int_equal(r.switches, 2);
	story_end(&s);
}

RUN_TESTS(cmocka_unit_test(all_of_a_trace_adds_up), cmocka_unit_test(a_part_of_it_adds_up))
