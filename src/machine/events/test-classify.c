/* The order of the classifier's questions: the earlier fact wins. */
#include "machine/events/event.h"

#include "lib/data/cleanup.h"
#include "lib/data/test.h"

static const struct {
	struct wait_facts facts;
	enum thread_state state;
} cases[] = {
	/* runnable */
	{{0, WAIT_QUOTA | WAIT_CLASS | WAIT_SLICE | WAIT_ARRIVAL, CALL_YIELD}, STATE_QUOTA},
	{{0, WAIT_CLASS | WAIT_SLICE, CALL_YIELD}, STATE_YIELDED},
	{{0, WAIT_CLASS | WAIT_SLICE | WAIT_ARRIVAL, CALL_FAULT}, STATE_PREEMPTED_CLASS},
	{{0, WAIT_SLICE | WAIT_ARRIVAL, CALL_FAULT}, STATE_PREEMPTED_SLICE},
	{{0, WAIT_ARRIVAL, CALL_FAULT}, STATE_PREEMPTED_ARRIVAL},
	{{0, WAIT_ARRIVAL | WAIT_NO_DEADLINE, CALL_FAULT}, STATE_PREEMPTED_ARRIVAL},
	{{0, WAIT_NO_DEADLINE, CALL_FAULT}, STATE_PREEMPTED_SLICE},
	{{0, 0, CALL_FUTEX}, STATE_PREEMPTED_OTHER},
	/* blocked */
	{{TASK_STATE_ENDED, WAIT_IO, CALL_OTHER}, STATE_ENDED},
	{{TASK_STATE_STOPPED, 0, CALL_FUTEX}, STATE_STOPPED},
	{{TASK_STATE_TRACED, 0, CALL_FAULT}, STATE_STOPPED},
	{{TASK_STATE_SLEEPS, 0, CALL_NONE}, STATE_IDLE_KERNEL},
	{{TASK_STATE_BLOCKED | TASK_STATE_NO_LOAD, 0, CALL_NONE}, STATE_IDLE_KERNEL},
	{{TASK_STATE_BLOCKED, 0, CALL_NONE}, STATE_OTHER},
	{{TASK_STATE_BLOCKED, WAIT_IO, CALL_NONE}, STATE_DISK},
	{{TASK_STATE_BLOCKED, WAIT_KERNEL_LOCK | WAIT_MEMORY | WAIT_IO, CALL_FILE}, STATE_KERNEL_LOCK},
	{{TASK_STATE_BLOCKED, WAIT_MEMORY | WAIT_IO, CALL_FAULT}, STATE_RECLAIM},
	{{TASK_STATE_BLOCKED, WAIT_IO, CALL_FAULT}, STATE_DISK},
	{{TASK_STATE_BLOCKED, 0, CALL_FAULT}, STATE_FAULT},
	{{TASK_STATE_SLEEPS, 0, CALL_FUTEX}, STATE_LOCK},
	{{TASK_STATE_SLEEPS, WAIT_KERNEL_LOCK, CALL_FUTEX}, STATE_KERNEL_LOCK},
	{{TASK_STATE_SLEEPS, 0, CALL_SLEEP}, STATE_TIMER},
	{{TASK_STATE_SLEEPS, 0, CALL_POLL}, STATE_IDLE},
	{{TASK_STATE_SLEEPS, 0, CALL_ACCEPT}, STATE_IDLE},
	{{TASK_STATE_SLEEPS, 0, CALL_PIPE}, STATE_PEER},
	{{TASK_STATE_SLEEPS, 0, CALL_LOCAL_SOCKET}, STATE_PEER},
	{{TASK_STATE_SLEEPS, 0, CALL_SOCKET}, STATE_NETWORK},
	{{TASK_STATE_BLOCKED, 0, CALL_FILE}, STATE_DISK},
	{{TASK_STATE_SLEEPS, 0, CALL_CHILD}, STATE_CHILD},
	{{TASK_STATE_SLEEPS, 0, CALL_UNKNOWN}, STATE_OTHER},
	{{TASK_STATE_SLEEPS, 0, 255}, STATE_OTHER},
};

static void earlier_facts_win(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(classify(cases[i].facts), cases[i].state);
}

static void an_idle_loop_is_not_blocked(void **state)
{
	(void)state;
	assert_false(thread_state_is_blocked(STATE_IDLE));
	assert_false(thread_state_is_blocked(STATE_TIMER));
	assert_true(thread_state_is_blocked(STATE_LOCK));
	assert_true(thread_state_is_runnable(STATE_QUOTA));
	for (int s = 0; s < STATE_COUNT; s++)
		assert_false(thread_state_is_blocked(s) && thread_state_is_runnable(s));
}

RUN_TESTS(cmocka_unit_test(earlier_facts_win),
	  cmocka_unit_test(an_idle_loop_is_not_blocked))
