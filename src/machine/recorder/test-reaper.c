#include "lib/data/test.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/system/urgent.h"
#include "machine/recorder/reaper.h"

/* A child that ends with a status, or by a signal. */
static pid_t begin_child(int status, int number)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (number)
			raise(number);
		_exit(status);
	}
	assert_true(pid > 0);
	return pid;
}

static bool is_reaped(pid_t pid)
{
	siginfo_t info;

	for (int i = 0; i < 1000; i++) {
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) < 0)
			return errno == ECHILD;
		usleep(10000);
	}
	return false;
}

static void how_a_child_ended(void **state)
{
	struct rusage usage;
	struct reaper r;
	int status;
	pid_t pid;

	reaper_open(&r);
	assert_true(r.has_thread);
	pid = begin_child(3, 0);
	assert_int_equal(reaper_look(&r, pid, true, &status, &usage), 1);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_true(usage.ru_maxrss > 0);
	assert_true(is_reaped(pid));
	pid = begin_child(0, SIGKILL);
	assert_int_equal(reaper_look(&r, pid, true, &status, NULL), 1);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_true(is_reaped(pid));
	assert_int_equal(reaper_look(&r, pid, true, &status, NULL), -ECHILD);
	reaper_close(&r);
	assert_false(r.has_thread);
}

static void a_child_that_is_still_there(void **state)
{
	struct reaper r;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	reaper_open(&r);
	pid = fork();
	if (pid == 0) {
		char byte;

		close(ends[1]);
		(void)!read(ends[0], &byte, 1);
		_exit(0);
	}
	assert_int_equal(reaper_look(&r, pid, false, &status, NULL), 0);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(reaper_look(&r, pid, true, &status, NULL), 1);
	assert_true(is_reaped(pid));
	reaper_close(&r);
}

static void without_a_thread_children_are_reaped_too(void **state)
{
	struct reaper r = {.fd = -1};
	int status;
	pid_t pid = begin_child(4, 0);

	assert_int_equal(reaper_look(&r, pid, true, &status, NULL), 1);
	assert_int_equal(WEXITSTATUS(status), 4);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	reaper_close(&r);
}

/* The policy of this process's thread of that name; -1: there is none. */
static int policy_of_thread(const char *name)
{
	DIR *dir = opendir("/proc/self/task");
	int policy = -1;

	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		char path[300], comm[20] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (f && fscanf(f, "%19s", comm) == 1 && strcmp(comm, name) == 0)
			policy = sched_getscheduler((pid_t)atoi(e->d_name)) & ~SCHED_RESET_ON_FORK;
		if (f)
			fclose(f);
	}
	closedir(dir);
	return policy;
}

static void it_is_done_at_normal_priority(void **state)
{
	int policy = SCHED_RR;
	struct reaper r;

	if (urgent_set_inherited() < 0)
		skip(); /* no right to real-time priority here */
	reaper_open(&r);
	for (int i = 0; i < 1000 && policy != SCHED_OTHER; i++) {
		usleep(10000);
		policy = policy_of_thread("reaper");
	}
	reaper_close(&r);
	assert_int_equal(urgent_set(false), 0);
	assert_int_equal(policy, SCHED_OTHER);
}

RUN_TESTS(cmocka_unit_test(how_a_child_ended), cmocka_unit_test(a_child_that_is_still_there), cmocka_unit_test(without_a_thread_children_are_reaped_too),
	  cmocka_unit_test(it_is_done_at_normal_priority))
