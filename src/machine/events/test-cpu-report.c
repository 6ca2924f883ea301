/* Every nanosecond of every CPU is a thread's, an interrupt's or idle. */
#include "machine/events/cpu-report.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

#define MS 1000000ull

static struct ring_task task(uint32_t tid, uint32_t tgid, uint64_t running, uint64_t stolen, uint64_t ticks)
{
	struct ring_task t = {.who = {.tid = tid, .tgid = tgid, .start = tid}, .has_sums = 1, .utime = ticks};

	memcpy(t.who.comm, tid == tgid ? "lea\ner" : "worker", 7);
	t.sum[SUM_RUNNING] = running;
	t.sum[SUM_STOLEN] = stolen;
	return t;
}

static void the_sums_are_whole(void **state)
{
	_cleanup_(cpu_reading_free) struct cpu_reading before = {.time = 1000 * MS}, after = {.time = 1100 * MS};
	_cleanup_(cpu_report_free) struct cpu_report r = {};

	VEC_PUSH(before.tasks, task(5, 5, 10 * MS, 0, 8 * MS));
	VEC_PUSH(after.tasks, task(5, 5, 40 * MS, 5 * MS, 8 * MS));
	VEC_PUSH(after.tasks, task(6, 5, 20 * MS, 0, 20 * MS)); /* born between */
	/* busy from the first reading on; idle since 1055 */
	VEC_PUSH(before.cpus, ((struct ring_cpu){.switches = 1, .current = 5, .since = 990 * MS, .queue_at = 995 * MS, .queued = 2}));
	VEC_PUSH(after.cpus, ((struct ring_cpu){.switches = 9, .since = 1055 * MS, .queue_at = 1055 * MS, .queued = 0,
						.softirq_time = {[3] = 5 * MS}, .irq_time = 3 * MS, .timer_time = 2 * MS,
						.at_length = {[2] = 60 * MS}, .bursts = {[2] = 4}}));
	assert_int_equal(cpu_report_make(&before, &after, &r), 0);
	assert_int_equal(r.processes.n, 1);
	assert_int_equal(r.processes.v[0].ran, 45 * MS);
	assert_int_equal(r.processes.v[0].threads, 2);
	assert_string_equal(r.processes.v[0].name, "lea er");
	assert_int_equal(r.ran + r.idle + r.interrupted, 100 * MS);
	assert_int_equal(r.unknown, 0);
	assert_int_equal(r.idle, 45 * MS);
	assert_int_equal(r.interrupted, 10 * MS);
	assert_string_equal(r.interrupts.v[0].name, "softirq: network receiving");
	/* the timer's sampling missed all that the leader did */
	assert_int_equal(r.ticks_wrong, 30 * MS);
	assert_int_equal(r.bursts[2], 4);
	assert_true(r.queue > 1.0 && r.queue < 1.3);
}

static void steal_is_what_grew_between(void **state)
{
	struct cpu_reading before = {.time = 0, .steal = 70 * MS}, after = {.time = 100 * MS, .steal = 90 * MS};
	struct cpu_report r = {};

	assert_int_equal(cpu_report_make(&before, &after, &r), 0);
	assert_int_equal(r.steal, 20 * MS);
	cpu_report_free(&r);
	after.steal = CPU_STEAL_UNKNOWN;
	assert_int_equal(cpu_report_make(&before, &after, &r), 0);
	assert_int_equal(r.steal, CPU_STEAL_UNKNOWN);
	cpu_report_free(&r);
}

static void a_reused_number_counts_from_nothing(void **state)
{
	_cleanup_(cpu_reading_free) struct cpu_reading before = {.time = 0}, after = {.time = 100 * MS};
	_cleanup_(cpu_report_free) struct cpu_report r = {};
	struct ring_task old = task(5, 5, 90 * MS, 0, 0), young = task(5, 5, 10 * MS, 0, 0);

	young.who.start = 77;
	VEC_PUSH(before.tasks, old);
	VEC_PUSH(after.tasks, young);
	assert_int_equal(cpu_report_make(&before, &after, &r), 0);
	assert_int_equal(r.processes.v[0].ran, 10 * MS);
}

RUN_TESTS(cmocka_unit_test(steal_is_what_grew_between), cmocka_unit_test(the_sums_are_whole), cmocka_unit_test(a_reused_number_counts_from_nothing))
