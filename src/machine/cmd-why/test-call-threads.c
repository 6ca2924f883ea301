/* Which threads handled a call: those that had a CPU when it began and when it ended. */
#include "machine/cmd-why/call-threads.h"
#include "machine/threads/test-story.h"

#define SERVER 100

/* A handles a call from 1200 to 9400 us and asks another server in it; B waits for requests all the time; C handles another one from 4000 us on. */
static void who_waits_for_other_requests_has_no_part_in_a_call(void **state)
{
	_cleanup_(story_end) struct story s;
	uint32_t threads[3];

	story_begin(&s, 1);
	for (uint32_t tid = A; tid <= C; tid++)
		cast_thread(&s, tid, SERVER, "server", 0);
	leave_for(&s, 1, 0, B, 0, CALL_SOCKET, 0);
	leave_for(&s, 2, 0, A, 0, CALL_SOCKET, 0);
	leave_for(&s, 3, 0, C, 0, CALL_SOCKET, 0);
	wake(&s, 1000, 0, 0, A, 0);
	leave(&s, 1001, 0, 0, A, 0, 0, 0);
	leave_for(&s, 1300, 0, A, 0, CALL_SOCKET, 0);
	wake(&s, 4000, 0, 0, C, 0);
	leave(&s, 4001, 0, 0, C, 0, 0, 0);
	leave_for(&s, 4500, 0, C, 0, CALL_SOCKET, 0);
	wake(&s, 9000, 0, 0, A, 0);
	leave(&s, 9001, 0, 0, A, 0, 0, 0);
	leave_for(&s, 9500, 0, A, 0, CALL_SOCKET, 0);
	tell(&s, 20000);
	for (uint32_t i = 0; i < 3; i++)
		threads[i] = who(&s, C - i);
	assert_int_equal(call_threads(&s.line, 1200 * US, 9400 * US, threads, 3), 1);
	assert_int_equal(threads[0], who(&s, A));
	assert_int_equal(call_threads(&s.line, CALL_BEGAN_BEFORE, 4300 * US, threads, 3), 1);
	assert_int_equal(threads[0], who(&s, C));
	assert_int_equal(call_threads(&s.line, 1200 * US, 15000 * US, threads, 3), 0);
}

RUN_TESTS(cmocka_unit_test(who_waits_for_other_requests_has_no_part_in_a_call))
