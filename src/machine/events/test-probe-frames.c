/* Frames of the recorder's own programs are cut off a stack, and nothing else. */
#include "machine/events/probe-frames.h"

#include "lib/data/test.h"

#define KERNEL 0xffffffff81000000ull

static const char *const *names;

static const char *name_of(const void *data, uint64_t address)
{
	(void)data;
	return names[address - KERNEL];
}

static uint32_t cut(const char *const *called, uint32_t n)
{
	uint64_t frames[16];

	names = called;
	for (uint32_t i = 0; i < n; i++)
		frames[i] = KERNEL + i;
	return probe_frames(frames, n, name_of, NULL);
}

static void a_tracepoints_way_is_cut_off(void **state)
{
	static const char *const waking[] = {"bpf_prog_1_stack_here", NULL, "bpf_trace_run1", "__traceiter_sched_waking", "try_to_wake_up", "pipe_write"};

	assert_int_equal(cut(waking, 6), 4);
}

static void code_of_the_kernel_stays(void **state)
{
	static const char *const plain[] = {"try_to_wake_up", NULL, "pipe_write", "vfs_write"};

	assert_int_equal(cut(plain, 4), 0);
	assert_int_equal(cut(plain, 0), 0);
}

/* Another's program that woke a thread is what was asked about. */
static void what_lies_far_outside_stays(void **state)
{
	static const char *const of_another[] = {"__traceiter_sched_waking", "try_to_wake_up", "wake_up_process", "queue_work_on", "__queue_work", "a", "b", "c", "bpf_prog_2_xdp"};

	assert_int_equal(cut(of_another, 9), 1);
}

static void user_code_is_never_cut(void **state)
{
	const uint64_t frames[] = {0x401000, KERNEL};
	static const char *const probe[] = {"bpf_prog_1"};

	names = probe;
	assert_int_equal(probe_frames(frames, 2, name_of, NULL), 0);
}

RUN_TESTS(cmocka_unit_test(a_tracepoints_way_is_cut_off), cmocka_unit_test(code_of_the_kernel_stays),
	  cmocka_unit_test(what_lies_far_outside_stays), cmocka_unit_test(user_code_is_never_cut))
