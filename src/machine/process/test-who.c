#include "machine/process/who.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/test.h"
#include "machine/model/visibility.h"

/* A script of its own, which waits; its number. */
static pid_t start(const char *folder, const char *script)
{
	char path[128];
	FILE *f;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", folder, script);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("#!/bin/sh\nread line\n", f);
	fclose(f);
	pid = fork();
	if (pid == 0) {
		int ends[2];

		(void)!pipe(ends);
		dup2(ends[0], STDIN_FILENO);
		execl("/bin/sh", "sh", path, (char *)NULL);
		_exit(1);
	}
	return pid;
}

static bool means(const char *who, pid_t pid, const struct viewer *v)
{
	struct who_hits hits;
	bool found = false;

	assert_int_equal(who_find("/proc", who, v, &hits), 0);
	for (size_t i = 0; i < hits.list.n; i++)
		found |= hits.list.v[i].pid == (uint32_t)pid;
	who_hits_free(&hits);
	return found;
}

static void a_script_is_meant_by_its_words(void **state)
{
	char folder[] = "/tmp/test-who-XXXXXX", path[128];
	const struct viewer root = {}, other = VIEWER_NOBODY;
	pid_t pid;

	assert_non_null(mkdtemp(folder));
	pid = start(folder, "orders-of-a-test.sh");
	snprintf(path, sizeof(path), "%s/orders-of-a-test.sh", folder);
	for (int i = 0; i < 100 && !means("orders-of-a-test.sh", pid, &root); i++)
		usleep(20000);
	assert_true(means("orders-of-a-test.sh", pid, &root));
	assert_true(means(path, pid, &root));
	snprintf(path, sizeof(path), "%d", pid);
	assert_true(means(path, pid, &root));
	assert_false(means("orders-of-a", pid, &root)); /* a part of a word is not a word */
	if (geteuid() == 0)
		assert_false(means("orders-of-a-test.sh", pid, &other)); /* whose command lines are hidden from it */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(path, sizeof(path), "rm -r %s", folder);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_script_is_meant_by_its_words)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
