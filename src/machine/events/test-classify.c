/* The order of the classifier's questions: the earlier fact wins. */
#include <linux/futex.h>

#include "machine/events/event.h"
#include "machine/events/futex.h"
#include "machine/events/poll.h"

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
	{{TASK_STATE_SLEEPS, 0, CALL_LOCK}, STATE_LOCK},
	{{TASK_STATE_SLEEPS, 0, CALL_CONDITION}, STATE_CONDITION},
	{{TASK_STATE_SLEEPS, 0, CALL_FUTEX}, STATE_CONDITION},
	{{TASK_STATE_SLEEPS, WAIT_KERNEL_LOCK, CALL_LOCK}, STATE_KERNEL_LOCK},
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
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(classify(cases[i].facts), cases[i].state);
}

#define PRIVATE	  FUTEX_PRIVATE_FLAG
#define CLOCK	  FUTEX_CLOCK_REALTIME
#define WAITS	  FUTEX_WAIT | PRIVATE
#define WAITS_BIT FUTEX_WAIT_BITSET | PRIVATE
#define HEAP	  0x7f0000001000
#define STACK	  0x7ffd00002000

/* As libraries call: traced with strace, or read in their sources. */
static const struct {
	struct futex_wait wait;
	event_u8 call;
	event_u32 holder;
} futexes[] = {
	{{HEAP, WAITS, 2, 0, STACK, 4711}, CALL_LOCK, 4711},			   /* glibc: pthread_mutex_lock */
	{{HEAP, WAITS, 2, 0, STACK, 0}, CALL_LOCK, 0},				   /* glibc: malloc's arena; Go's runtime */
	{{STACK + 64, WAITS, 2, 0, STACK, 4711}, CALL_LOCK, 4711},		   /* a mutex in main()'s variables */
	{{HEAP, WAITS_BIT | CLOCK, 2, 1, STACK, 4711}, CALL_LOCK, 4711},	   /* pthread_mutex_timedlock */
	{{HEAP, WAITS_BIT, 2, 0, STACK, 0}, CALL_LOCK, 0},			   /* Rust's and Android's mutexes */
	{{HEAP, WAITS, FUTEX_WAITERS | 4711, 0, STACK, 0}, CALL_LOCK, 4711},	   /* robust mutexes; musl's recursive ones */
	{{HEAP, WAITS, 0x80000010, 0, STACK, 0}, CALL_LOCK, 0},			   /* musl's normal ones */
	{{HEAP, FUTEX_LOCK_PI | PRIVATE, 0, 0, STACK, 0}, CALL_LOCK, 4711},
	{{HEAP, FUTEX_LOCK_PI2 | PRIVATE, 0, 1, STACK, 0}, CALL_LOCK, 4711},
	{{HEAP, WAITS_BIT | CLOCK, 0, 0, STACK, 0}, CALL_CONDITION, 0},		   /* glibc: pthread_cond_wait, sem_wait; so Java's and Python's threads */
	{{HEAP, WAITS_BIT, 0, 1, STACK, 0}, CALL_CONDITION, 0},			   /* with a time limit by the monotonic clock */
	{{HEAP, WAITS_BIT | CLOCK, 2, 0, STACK, 0}, CALL_CONDITION, 0},		   /* glibc 2.41: a counter that is 2 */
	{{HEAP, WAITS_BIT | CLOCK, 4711, 0, STACK, 0}, CALL_CONDITION, 0},	   /* pthread_join: the number of the thread */
	{{HEAP, WAITS, 0, 0, STACK, 0}, CALL_CONDITION, 0},			   /* Go's parked threads */
	{{HEAP, WAITS, 1, 0, STACK, 0}, CALL_CONDITION, 0},			   /* parking_lot's */
	{{HEAP, WAITS_BIT, 0xffffffff, 0, STACK, 0}, CALL_CONDITION, 0},	   /* Rust: thread::park */
	{{STACK + 64, WAITS, 2, 0, STACK, 0}, CALL_CONDITION, 0},		   /* musl: pthread_cond_wait */
	{{HEAP, FUTEX_WAIT_REQUEUE_PI | PRIVATE, 2, 0, STACK, 0}, CALL_CONDITION, 0},
};

static void a_futex_is_a_lock_or_a_signal(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(futexes); i++) {
		const struct futex_wait *w = &futexes[i].wait;

		assert_int_equal(futex_call(w), futexes[i].call);
		if (futexes[i].call == CALL_LOCK)
			assert_int_equal(futex_holder(w, futex_is_pi(w->operation) ? FUTEX_WAITERS | 4711 : w->expected), futexes[i].holder);
	}
}

/* A thread that was stopped, or frozen, and continues. */
static void a_restarted_call_is_known_by_its_arguments(void **state)
{
	assert_int_equal(futex_restarted_call(HEAP, WAITS_BIT), CALL_FUTEX);
	assert_int_equal(futex_restarted_call(HEAP, WAITS_BIT | CLOCK), CALL_FUTEX);
	assert_int_equal(futex_restarted_call(HEAP, 2), CALL_POLL);
	assert_int_equal(futex_restarted_call(STACK, 0), CALL_SLEEP);
	assert_int_equal(futex_restarted_call(STACK, STACK), CALL_SLEEP);
	assert_int_equal(futex_restarted_call(1, 0), CALL_SLEEP);
}

static void an_idle_loop_is_not_blocked(void **state)
{
	assert_false(thread_state_is_blocked(STATE_IDLE));
	assert_false(thread_state_is_blocked(STATE_TIMER));
	assert_true(thread_state_is_blocked(STATE_LOCK));
	assert_true(thread_state_is_runnable(STATE_QUOTA));
	for (int s = 0; s < STATE_COUNT; s++)
		assert_false(thread_state_is_blocked(s) && thread_state_is_runnable(s));
}

static void one_connection_of_its_own_is_waited_for(void **state)
{
	assert_true(poll_is_of_one(&(struct poll_wait){.files = 1, .opened = 1}));
	assert_true(poll_is_of_one(&(struct poll_wait){.files = 3, .opened = 1}));	      /* and what wakes it */
	assert_false(poll_is_of_one(&(struct poll_wait){.files = 1}));			      /* it was accepted */
	assert_false(poll_is_of_one(&(struct poll_wait){.files = 2, .opened = 1, .served = 1})); /* a server that asks another one */
	assert_false(poll_is_of_one(&(struct poll_wait){.files = 2, .opened = 2}));
	assert_false(poll_is_of_one(&(struct poll_wait){.files = POLL_FILES_MOST + 1, .opened = 1}));
}

static void what_was_sent_last_waits_for_an_answer(void **state)
{
	struct poll_memory m = {};

	assert_true(poll_note(&m, 1, 100, 0, 0));    /* a new connection: the other end speaks first, or was asked */
	assert_true(poll_note(&m, 1, 100, 0, 0));    /* woken by something else */
	assert_false(poll_note(&m, 1, 100, 70, 1));  /* answered */
	assert_true(poll_note(&m, 1, 200, 70, 1));   /* asked again */
	assert_true(poll_note(&m, 1, 300, 140, 1));  /* answered, and asked again at once */
	assert_false(poll_note(&m, 1, 300, 210, 1));
	assert_false(poll_note(&m, 2, 900, 800, 1)); /* another connection, of which nothing is known yet */
}

RUN_TESTS(cmocka_unit_test(one_connection_of_its_own_is_waited_for), cmocka_unit_test(what_was_sent_last_waits_for_an_answer), cmocka_unit_test(earlier_facts_win), cmocka_unit_test(a_futex_is_a_lock_or_a_signal), cmocka_unit_test(a_restarted_call_is_known_by_its_arguments),
	  cmocka_unit_test(an_idle_loop_is_not_blocked))
