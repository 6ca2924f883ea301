/* The holder of a file lock at the freeze, as a test's /proc/locks tells of it. */
#include "lib/data/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/system/file-lock.h"
#include "machine/recorder/capture-locks.h"

static void who_waits_in_flock_has_an_owner(void **state)
{
	_cleanup_(trace_clear) struct trace t = {};
	struct trace_thread waits = {.tid = 812, .tgid = 811, .facts = {.state = TASK_STATE_SLEEPS, .call = CALL_FILE_LOCK}};
	struct trace_thread polls = {.tid = 813, .tgid = 813, .facts = {.state = TASK_STATE_SLEEPS, .call = CALL_POLL}};
	char root[] = "/tmp/whyslow-locks-XXXXXX", path[64];
	FILE *f;

	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/locks", root);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("1: FLOCK  ADVISORY  WRITE 700 fe:00:1 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 811 fe:00:1 0 EOF\n"
	      "1: -> FLOCK  ADVISORY  WRITE 813 fe:00:1 0 EOF\n", f);
	fclose(f);
	assert_int_equal(trace_begin(&t, 1), 0);
	assert_int_equal(trace_add_thread(&t, &waits), 0);
	assert_int_equal(trace_add_thread(&t, &polls), 0);
	capture_locks(&t, root, FILE_LOCKS_PATIENCE);
	assert_int_equal(t.threads.v[0].owner, 700);
	assert_int_equal(t.threads.v[1].owner, 0); /* its process waits, this thread does not */
	unlink(path);
	rmdir(root);
}

RUN_TESTS(cmocka_unit_test(who_waits_in_flock_has_an_owner))
