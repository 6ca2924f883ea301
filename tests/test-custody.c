/* A process in custody is given back whatever happens to whoever holds it: killed at any moment, alone or
 * with its guardian. Needs root. With a number as argument: so many kills a way. */
#include "base/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "act/custody.h"
#include "act/hold-file.h"
#include "act/place.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define PROC	 "/proc"
#define PATIENCE (5 * NS_PER_SEC) /* what was promised */
#define GROUPS	 2048

static unsigned kills = 12;
static char run_dir[] = "/tmp/custody-XXXXXX";
static int64_t longest;

/* A shell with two children: what is held back is a tree. */
static pid_t start_target(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		execl("/bin/sh", "sh", "-c", "sleep 1000 & sleep 1000 & wait", NULL);
		_exit(1);
	}
	for (int i = 0; i < 200; i++) {
		struct target t;
		size_t n = 0;

		if (target_find(PROC, (uint32_t)pid, &t) == 0) {
			n = t.members.list.n;
			target_free(&t);
		}
		if (n == 3)
			break;
		poll(NULL, 0, 10);
	}
	return pid;
}

static void end_target(pid_t pid)
{
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Everything that holding back could have changed, of all members. */
struct state {
	char groups[3][GROUPS];
	int policy[3], nice[3];
	long io[3];
	size_t n;
};

static void read_state(pid_t pid, struct state *ret)
{
	struct target t;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(target_find(PROC, (uint32_t)pid, &t), 0);
	for (size_t i = 0; i < t.members.list.n && i < 3; i++) {
		uint32_t member = t.members.list.v[i].pid;
		_cleanup_close_ int fd = -1;
		char name[64];

		snprintf(name, sizeof(name), "/proc/%u/cgroup", member);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0 && read(fd, ret->groups[i], GROUPS - 1) > 0);
		ret->policy[i] = sched_getscheduler((pid_t)member);
		ret->io[i] = syscall(SYS_ioprio_get, 1, member);
	}
	ret->n = t.members.list.n;
	target_free(&t);
}

static bool is_back(pid_t pid, const struct state *before)
{
	_cleanup_free_ char *folder = hold_folder(run_dir);
	DIR *d = folder ? opendir(folder) : NULL;
	struct state now;
	struct dirent *e;
	bool empty = true;

	while (d && (e = readdir(d)))
		empty &= e->d_name[0] == '.';
	if (d)
		closedir(d);
	read_state(pid, &now);
	return empty && memcmp(&now, before, sizeof(now)) == 0;
}

static struct hold_request request(enum hold_way way)
{
	return (struct hold_request){.proc_root = PROC,
				     .run_dir = run_dir,
				     .of = SHORT_CPU,
				     .way = (int)way,
				     .rights = {.force = true}};
}

/* Holds and lets go without rest, until killed. */
static void __attribute__((noreturn)) seize(pid_t pid, enum hold_way way)
{
	struct hold_request q = request(way);
	struct custody *c;
	struct target t;
	char *words;

	if (target_find(PROC, (uint32_t)pid, &t) < 0 || custody_begin(&q, &t, &c, &words) < 0)
		_exit(1);
	for (;;)
		if (custody_hold(c) < 0 || custody_let_go(c) < 0)
			_exit(2);
}

static bool can(enum hold_way way, pid_t pid)
{
	struct hold_request q = request(way);
	struct custody *c;
	struct target t;
	char *words = NULL;
	int r;

	assert_int_equal(target_find(PROC, (uint32_t)pid, &t), 0);
	r = custody_begin(&q, &t, &c, &words);
	if (r == 0)
		assert_int_equal(custody_end(c, false), 0);
	else
		print_message("%s: %s\n", hold_way_names[way], words ? words : strerror(-r));
	free(words);
	target_free(&t);
	return r == 0;
}

/* The guardian, if it was started yet: a child of the holder. */
static void kill_guardian(pid_t holder)
{
	struct target t;

	if (target_find(PROC, (uint32_t)holder, &t) < 0)
		return;
	for (size_t i = 1; i < t.members.list.n; i++)
		kill((pid_t)t.members.list.v[i].pid, SIGKILL);
	target_free(&t);
}

static void kill_at_any_moment(enum hold_way way, bool guardian_too)
{
	pid_t target = start_target();
	struct state before;

	if (!can(way, target)) {
		end_target(target);
		skip();
	}
	read_state(target, &before);
	assert_int_equal(before.n, 3);
	for (unsigned i = 0; i < kills; i++) {
		pid_t holder = fork();
		int64_t killed;

		if (holder == 0)
			seize(target, way);
		usleep((unsigned)random() % 60000);
		if (guardian_too) {
			kill(holder, SIGSTOP); /* both at one moment */
			kill_guardian(holder);
		}
		kill(holder, SIGKILL);
		killed = monotonic_now();
		waitpid(holder, NULL, 0);
		if (guardian_too)
			while (hold_sweep(PROC, run_dir) < 0 || !is_back(target, &before)) {
				/* the guardian may not be quite dead */
				assert_true(monotonic_now() - killed < PATIENCE);
				poll(NULL, 0, 5);
			}
		while (!is_back(target, &before)) {
			if (monotonic_now() - killed > PATIENCE)
				print_message("kill %u was not undone: %s\n", i, run_dir);
			assert_true(monotonic_now() - killed <= PATIENCE);
			poll(NULL, 0, 2);
		}
		if (getenv("VERBOSE"))
			print_message("%s %u: %.3f s\n", hold_way_names[way], i,
				      (double)(monotonic_now() - killed) / 1e9);
		if (monotonic_now() - killed > longest)
			longest = monotonic_now() - killed;
	}
	end_target(target);
}

static void killed_limit_is_undone(void **state)
{
	(void)state;
	kill_at_any_moment(WAY_LIMIT, false);
}

static void killed_freeze_is_undone(void **state)
{
	(void)state;
	kill_at_any_moment(WAY_FREEZE, false);
}

static void killed_class_is_undone(void **state)
{
	(void)state;
	kill_at_any_moment(WAY_CLASS, false);
}

static void killed_with_its_guardian_a_sweep_undoes_it(void **state)
{
	(void)state;
	kill_at_any_moment(WAY_LIMIT, true);
	kill_at_any_moment(WAY_CLASS, true);
}

static void standing_still_it_is_undone(void **state)
{
	struct hold_request q = request(WAY_CLASS);
	pid_t target = start_target(), holder;
	struct state before;
	int64_t stopped;

	(void)state;
	read_state(target, &before);
	holder = fork();
	if (holder == 0) {
		struct custody *c;
		struct target t;
		char *words;

		if (target_find(PROC, (uint32_t)target, &t) < 0 || custody_begin(&q, &t, &c, &words) < 0 ||
		    custody_hold(c) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	while (is_back(target, &before))
		poll(NULL, 0, 5);
	stopped = monotonic_now();
	while (!is_back(target, &before)) {
		assert_true(monotonic_now() - stopped < PATIENCE + CUSTODY_PATIENCE * NS_PER_MS);
		poll(NULL, 0, 20);
	}
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	end_target(target);
}

/* A child that begins while its parent is held back comes back with it. */
static void younger_children_come_back_too(void **state)
{
	static const enum hold_way ways[] = {WAY_CLASS, WAY_LIMIT};
	_cleanup_free_ char *words = NULL;
	struct custody *c;

	(void)state;
	for (size_t w = 0; w < ARRAY_SIZE(ways); w++) {
		struct hold_request q = request(ways[w]);
		pid_t pid = fork();
		struct target t, after;
		struct state now;

		if (pid == 0) {
			setsid();
			/* a child of a child that ends at once: its parent is gone when it is looked for */
			execl("/bin/sh", "sh", "-c", "sleep 0.5; (sleep 1000 &) ; sleep 1000", NULL);
			_exit(1);
		}
		poll(NULL, 0, 200);
		assert_int_equal(target_find(PROC, (uint32_t)pid, &t), 0);
		free(words);
		words = NULL;
		if (custody_begin(&q, &t, &c, &words) < 0) {
			print_message("%s: %s\n", hold_way_names[ways[w]], words);
			end_target(pid);
			target_free(&t);
			continue;
		}
		assert_int_equal(custody_hold(c), 0);
		poll(NULL, 0, 900);
		assert_int_equal(custody_end(c, false), 0);
		assert_int_equal(target_find(PROC, (uint32_t)pid, &after), 0);
		for (size_t i = 0; i < after.members.list.n; i++)
			assert_int_equal(sched_getscheduler((pid_t)after.members.list.v[i].pid), SCHED_OTHER);
		read_state(pid, &now);
		assert_null(strstr(now.groups[0], "whyslow"));
		target_free(&t);
		target_free(&after);
		/* nobody of the session is left in the idle class */
		{
			struct processes all;

			assert_int_equal(processes_read(PROC, &all), 0);
			for (size_t i = 0; i < all.list.n; i++)
				if (all.list.v[i].session == (uint32_t)pid)
					assert_int_equal(sched_getscheduler((pid_t)all.list.v[i].pid),
							 SCHED_OTHER);
			processes_free(&all);
		}
		end_target(pid);
	}
}

static void kept_ones_stay_until_given_back(void **state)
{
	struct hold_request q = request(WAY_CLASS);
	pid_t target = start_target();
	struct state before;
	struct custody *c;
	struct target t;
	char *words = NULL;
	size_t n;

	(void)state;
	read_state(target, &before);
	assert_int_equal(target_find(PROC, (uint32_t)target, &t), 0);
	assert_int_equal(custody_begin(&q, &t, &c, &words), 0);
	assert_int_equal(custody_hold(c), 0);
	assert_int_equal(custody_end(c, true), 0);
	assert_int_equal(hold_sweep(PROC, run_dir), 0);
	assert_int_equal(sched_getscheduler(target), SCHED_IDLE);
	free(words);
	/* nobody takes it a second time, and nobody else's user gives it back */
	assert_int_equal(custody_begin(&q, &t, &c, &words), -EBUSY);
	assert_int_equal(custody_release(PROC, run_dir, (uint32_t)target, 12345, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(custody_release(PROC, run_dir, (uint32_t)target, 0, &n), 0);
	assert_int_equal(n, 1);
	assert_true(is_back(target, &before));
	free(words);
	target_free(&t);
	end_target(target);
}

static int clean_up(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", run_dir);
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_limit_is_undone),
		cmocka_unit_test(killed_freeze_is_undone),
		cmocka_unit_test(killed_class_is_undone),
		cmocka_unit_test(killed_with_its_guardian_a_sweep_undoes_it),
		cmocka_unit_test(standing_still_it_is_undone),
		cmocka_unit_test(younger_children_come_back_too),
		cmocka_unit_test(kept_ones_stay_until_given_back),
	};
	int failed;

	if (geteuid() != 0) {
		puts("needs root");
		return 77;
	}
	if (argc > 1)
		kills = (unsigned)atoi(argv[1]);
	srandom((unsigned)monotonic_now());
	if (!mkdtemp(run_dir))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, clean_up);
	printf("longest until a killed holder's process was back: %.3f s\n", (double)longest / 1e9);
	return failed;
}
