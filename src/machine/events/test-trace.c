/* Events come back in order of time, and numbers that were used twice mean the thread of the moment. */
#include "machine/events/trace.h"

#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

static void add(struct trace *t, uint64_t time, uint16_t cpu, uint8_t kind, uint32_t thread)
{
	assert_int_equal(trace_add(t, &(struct event){.time = time, .cpu = cpu, .kind = kind, .thread = thread}), 0);
}

static void sorts_by_time(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	uint64_t seed = 1;

	assert_int_equal(trace_begin(&t, 4), 0);
	for (uint16_t cpu = 0; cpu < 4; cpu++)
		for (uint64_t i = 0; i < 5000; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			add(&t, 1000 + i * 100 + (seed >> 33) % 700, cpu, EVENT_SWITCH, (uint32_t)i);
		}
	assert_int_equal(trace_finish(&t), 0);
	assert_int_equal(t.n_events, 20000);
	for (size_t i = 1; i < t.n_events; i++)
		assert_true(t.events[i - 1].time <= t.events[i].time);
	assert_int_equal(trace_find(&t, t.events[777].time - 1) <= 777, 1);
	assert_int_equal(trace_find(&t, UINT64_MAX), 20000);
}

static void keeps_the_order_of_one_moment(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};

	trace_begin(&t, 2);
	add(&t, 50, 1, EVENT_SWITCH, 1);
	add(&t, 20, 0, EVENT_LOCK, 2);
	add(&t, 20, 0, EVENT_SWITCH, 3);
	add(&t, 20, 1, EVENT_SWITCH, 4);
	assert_int_equal(trace_finish(&t), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(t.events[i].thread, i + 2);
	assert_int_equal(t.events[3].thread, 1);
}

#define KERNEL_AT 0xffffffff81000010ull

static void unknown_kinds_are_counted(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};

	trace_begin(&t, 1);
	add(&t, 10, 0, EVENT_KIND_END, 1);
	add(&t, 11, 0, EVENT_SWITCH, 1);
	add(&t, 12, 0, 255, 1);
	assert_int_equal(trace_add(&t, &(struct event){.cpu = 1, .kind = EVENT_SWITCH}), -EINVAL);
	assert_int_equal(trace_finish(&t), 0);
	assert_int_equal(t.n_events, 1);
	assert_int_equal(t.cpus[0].unknown, 2);
}

static void a_reused_number_is_another_thread(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};

	trace_begin(&t, 1);
	trace_add_thread(&t, &(struct trace_thread){.tid = 7, .tgid = 7, .start = 500, .comm = "second"});
	trace_add_thread(&t, &(struct trace_thread){.tid = 7, .tgid = 7, .start = 100, .end = 300, .comm = "first"});
	trace_add(&t, &(struct event){.time = 200, .thread = 8, .kind = EVENT_FORK, .fork = {8, 7, 7}});
	trace_add(&t, &(struct event){.time = 250, .thread = 8, .kind = EVENT_NAME, .text = "gone"});
	trace_add(&t, &(struct event){.time = 280, .thread = 8, .kind = EVENT_EXIT, .exit = {8, 0}});
	trace_add(&t, &(struct event){.time = 600, .thread = 9, .kind = EVENT_FORK, .fork = {7, 7, 7}});
	assert_int_equal(trace_finish(&t), 0);
	assert_string_equal(trace_thread(&t, 7, 200)->comm, "first");
	assert_string_equal(trace_thread(&t, 7, 600)->comm, "second");
	assert_string_equal(trace_thread(&t, 8, 260)->comm, "gone");
	assert_int_equal(trace_thread(&t, 8, 260)->end, 280);
	assert_string_equal(trace_thread(&t, 9, 600)->comm, "second");
	assert_true(trace_thread(&t, 0, 0)->flags & THREAD_IS_IDLE);
	assert_null(trace_thread(&t, 99, 0));
	assert_int_equal(trace_finish(&t), 0);
	assert_int_equal(t.threads.n, 5);
}

static void numbers_of_a_namespace_are_translated(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};

	trace_begin(&t, 1);
	trace_add_thread(&t, &(struct trace_thread){.tid = 700, .tgid = 700, .ns_tid = 2, .pid_ns = 99, .comm = "waits"});
	trace_add_thread(&t, &(struct trace_thread){.tid = 701, .tgid = 701, .ns_tid = 3, .pid_ns = 99, .comm = "holds"});
	trace_add_thread(&t, &(struct trace_thread){.tid = 3, .tgid = 3, .ns_tid = 3, .pid_ns = 1, .comm = "other"});
	trace_add_thread(&t, &(struct trace_thread){.tid = 5, .tgid = 5, .ns_tid = 5, .pid_ns = 1, .comm = "outside"});
	assert_int_equal(trace_finish(&t), 0);
	assert_string_equal(trace_thread_in_namespace(&t, trace_thread(&t, 700, 0), 3, 10)->comm, "holds");
	assert_string_equal(trace_thread_in_namespace(&t, trace_thread(&t, 5, 0), 3, 10)->comm, "other");
	assert_null(trace_thread_in_namespace(&t, trace_thread(&t, 700, 0), 5, 10));
}

static void two_generations_are_one_trace(void **state)
{
	_cleanup_(trace_clear) struct trace t = {}, later = {};
	uint64_t frames[] = {1, 2, 3};

	trace_begin(&t, 1);
	trace_begin(&later, 1);
	add(&t, 10, 0, EVENT_SWITCH, 1);
	trace_add_thread(&t, &(struct trace_thread){.tid = 1, .tgid = 1, .start = 5, .comm = "old"});
	add(&later, 20, 0, EVENT_SWITCH, 1);
	trace_add_thread(&later, &(struct trace_thread){.tid = 1, .tgid = 1, .start = 5, .comm = "new"});
	trace_add_stack(&later, 77, frames, 3);
	assert_int_equal(trace_finish(&t), 0);
	assert_int_equal(trace_finish(&later), 0);
	assert_int_equal(trace_append(&t, &later), 0);
	assert_int_equal(t.n_events, 2);
	assert_string_equal(trace_thread(&t, 1, 10)->comm, "new");
	assert_int_equal(trace_stack(&t, 77)->frames[2], 3);
	assert_int_equal(t.frozen, 10);
	assert_int_equal(t.to, 20);
}

static void a_tail_ends_where_a_question_does(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct trace_cpu cpus[1];
	struct trace last;

	trace_begin(&t, 1);
	for (uint64_t i = 1; i <= 10; i++)
		add(&t, 10 * i, 0, EVENT_SWITCH, (uint32_t)i);
	t.frozen = t.to = t.cpus[0].to = 100;
	assert_int_equal(trace_finish(&t), 0);
	trace_tail(&t, 80, 3, cpus, &last);
	assert_int_equal(last.n_events, 3);
	assert_int_equal(last.events[0].thread, 6);
	assert_int_equal(last.events[2].thread, 8);
	assert_int_equal(last.to, 80);
	assert_int_equal(last.frozen, 80);
	assert_int_equal(cpus[0].from, 50);
	assert_int_equal(cpus[0].to, 80);
	trace_tail(&t, 500, 100, cpus, &last);
	assert_int_equal(last.n_events, 10);
	assert_int_equal(last.to, 100);
}

/* Through functions without frame pointers the kernel walks into whatever lies on the stack. */
static void a_stack_ends_where_it_leaves_the_code(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	const uint64_t frames[] = {KERNEL_AT, 0x401000, 0x402000, 0x7ffd0001, 0xf80ac198feedfd92, 0x403000};
	const struct trace_stack *s;

	trace_begin(&t, 1);
	assert_int_equal(VEC_PUSH(t.mappings, ((struct trace_mapping){3, 0, 0x400000, 0x600000, 0})), 0);
	assert_int_equal(VEC_PUSH(t.mappings, ((struct trace_mapping){9, 0, 0x900000, 0xa00000, 0})), 0);
	trace_add_stack(&t, 1, frames, 6);
	assert_int_equal(trace_finish(&t), 0);
	s = trace_stack(&t, 1);
	assert_int_equal(trace_stack_depth(&t, 3, s), 3);
	assert_int_equal(trace_stack_depth(&t, 9, s), 2); /* where it was is known, even outside of all code */
	assert_int_equal(trace_stack_depth(&t, 4, s), 4); /* nothing is known of its memory, but that is not an address */
}

static void names_do_not_speak_to_a_terminal(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};

	trace_begin(&t, 1);
	trace_add_thread(&t, &(struct trace_thread){.tid = 3, .tgid = 3, .comm = "a\033[2J", .exe = strdup("/bin/a\nb")});
	assert_int_equal(VEC_PUSH(t.modules, (struct trace_module){.path = strdup("/lib/\033[2J.so")}), 0);
	assert_int_equal(VEC_PUSH(t.symbols, (struct trace_symbol){3, 0x1000, strdup("work\033[2J")}), 0);
	assert_int_equal(trace_finish(&t), 0);
	assert_string_equal(trace_thread(&t, 3, 0)->comm, "a?[2J");
	assert_string_equal(trace_thread(&t, 3, 0)->exe, "/bin/a b");
	/* what stacks of a stripped program, and of generated code, are shown by */
	assert_string_equal(t.modules.v[0].path, "/lib/?[2J.so");
	assert_string_equal(trace_symbol(&t, 3, 0x1000), "work?[2J");
}

RUN_TESTS(cmocka_unit_test(sorts_by_time),
	  cmocka_unit_test(keeps_the_order_of_one_moment),
	  cmocka_unit_test(a_tail_ends_where_a_question_does),
	  cmocka_unit_test(a_stack_ends_where_it_leaves_the_code),
	  cmocka_unit_test(unknown_kinds_are_counted),
	  cmocka_unit_test(a_reused_number_is_another_thread),
	  cmocka_unit_test(numbers_of_a_namespace_are_translated),
	  cmocka_unit_test(two_generations_are_one_trace),
	  cmocka_unit_test(names_do_not_speak_to_a_terminal))
