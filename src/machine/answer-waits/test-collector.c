/* The share of collector threads in what a process has run. */
#include "machine/answer-waits/collector.h"

#include <math.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/test.h"

#define BEGIN (1000 * NS_PER_SEC)

static void add_thread(struct trace *t, uint32_t tgid, uint32_t tid, const char *comm)
{
	struct trace_thread th = {.tid = tid, .tgid = tgid, .start = 1};

	strncpy(th.comm, comm, sizeof(th.comm) - 1);
	assert_int_equal(trace_add_thread(t, &th), 0);
}

/* Threads 11 (the program's), 12 (of `comm`) and 20 (another program's) take turns on a CPU, for `each` ns. */
static void take_turns(struct trace *t, const char *comm, const int64_t each[3])
{
	static const uint32_t tids[] = {11, 12, 20};
	int64_t now = BEGIN;

	trace_begin(t, 1);
	add_thread(t, 10, 10, "java");
	add_thread(t, 10, 11, "background");
	add_thread(t, 10, 12, comm);
	add_thread(t, 20, 20, "GC Thread#0");
	for (int i = 0; i < 30; i++) {
		struct event e = {.time = (uint64_t)now, .thread = tids[i % 3], .kind = EVENT_SWITCH, .out.next = tids[(i + 1) % 3]};

		assert_int_equal(trace_add(t, &e), 0);
		now += each[(i + 1) % 3];
	}
	t->frozen = (uint64_t)now;
	assert_int_equal(trace_finish(t), 0);
}

static double share_of(const char *comm, int64_t collector_ms)
{
	_cleanup_(trace_clear) struct trace t = {};

	take_turns(&t, comm, (int64_t[]){20 * NS_PER_MS, collector_ms * NS_PER_MS, 500 * NS_PER_MS});
	return collector_share(&t, 10);
}

static void collector_threads_are_known_by_name(void **state)
{
	assert_true(fabs(share_of("GC Thread#0", 80) - 0.8) < 0.03);
	assert_true(fabs(share_of("G1 Conc#0", 20) - 0.5) < 0.05);
	assert_true(isnan(share_of("C2 CompilerThre", 80)));
}

static void who_hardly_runs_is_not_judged(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};

	take_turns(&t, "GC Thread#0", (int64_t[]){NS_PER_MS, NS_PER_MS, 500 * NS_PER_MS});
	assert_true(isnan(collector_share(&t, 10)));
}

RUN_TESTS(cmocka_unit_test(collector_threads_are_known_by_name), cmocka_unit_test(who_hardly_runs_is_not_judged))
