/* A process in hold is given back whatever happens to the one that holds it: killed at any moment, alone or
 * with its hold watchdog. Needs root. With a number as argument: so many kills a way. */
#include "lib/data/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "machine/act/cgroup-place.h"
#include "machine/act/guarded-hold.h"
#include "machine/act/hold-file.h"
#include "machine/act/test-target.h"

#define PROC	 "/proc"
#define PATIENCE (5 * NS_PER_SEC) /* what was promised */
#define GROUPS	 2048

static unsigned kills = 12;
static char run_dir[] = "/tmp/hold-XXXXXX";
static int64_t longest;

#define HEADS 2

/* Shells with two children each: what is held back are trees. */
struct trees {
	pid_t head[HEADS];
	size_t n;
};

static void find_trees(const struct trees *trees, struct target *ret)
{
	struct processes heads = {};

	for (size_t i = 0; i < trees->n; i++) {
		struct process p;

		assert_int_equal(process_read(PROC, (uint32_t)trees->head[i], &p), 0);
		assert_int_equal(VEC_PUSH(heads.list, p), 0);
	}
	assert_int_equal(target_of(PROC, &heads, false, ret), 0);
	processes_free(&heads);
}

static size_t count_members(const struct trees *trees)
{
	struct target t;
	size_t n;

	find_trees(trees, &t);
	n = t.members.list.n;
	target_free(&t);
	return n;
}

#define NOBODY 65534

static struct trees start_trees_of(size_t n, uid_t uid)
{
	struct trees trees = {.n = n};

	for (size_t i = 0; i < n; i++) {
		trees.head[i] = fork();
		if (trees.head[i] == 0) {
			setsid();
			if (uid && setuid(uid) < 0)
				_exit(1);
			execl("/bin/sh", "sh", "-c", "sleep 1000 & sleep 1000 & wait", NULL);
			_exit(1);
		}
	}
	for (int i = 0; i < 200 && count_members(&trees) < 3 * n; i++)
		poll(NULL, 0, 10);
	return trees;
}

static struct trees start_trees(size_t n)
{
	return start_trees_of(n, 0);
}

static void end_trees(const struct trees *trees)
{
	for (size_t i = 0; i < trees->n; i++) {
		kill(-trees->head[i], SIGKILL);
		waitpid(trees->head[i], NULL, 0);
	}
}

/* Everything that holding back could have changed, of all members. */
struct state {
	char groups[3 * HEADS][GROUPS];
	int policy[3 * HEADS];
	long io[3 * HEADS];
	size_t n;
};

static void read_state(const struct trees *trees, struct state *ret)
{
	struct target t;

	memset(ret, 0, sizeof(*ret));
	find_trees(trees, &t);
	for (size_t i = 0; i < t.members.list.n && i < 3 * HEADS; i++) {
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

static bool is_back(const struct trees *trees, const struct state *before)
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
	read_state(trees, &now);
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
static void __attribute__((noreturn)) seize(const struct trees *trees, enum hold_way way)
{
	struct hold_request q = request(way);
	struct guarded_hold *c;
	struct target t;
	char *words;

	find_trees(trees, &t);
	if (guarded_hold_begin(&q, &t, &c, &words) < 0)
		_exit(1);
	for (;;)
		if (guarded_hold_apply(c) < 0 || guarded_hold_let_go(c) < 0)
			_exit(2);
}

static bool can(enum hold_way way, const struct trees *trees)
{
	struct hold_request q = request(way);
	struct guarded_hold *c;
	struct target t;
	char *words = NULL;
	int r;

	find_trees(trees, &t);
	r = guarded_hold_begin(&q, &t, &c, &words);
	if (r == 0)
		assert_int_equal(guarded_hold_end(c, false), 0);
	else
		print_message("%s: %s\n", hold_way_names[way], words ? words : strerror(-r));
	free(words);
	target_free(&t);
	return r == 0;
}

/* The hold watchdog, if it was started yet: a child of the holder. */
static void kill_guardian(pid_t holder)
{
	struct target t;

	if (target_find(PROC, (uint32_t)holder, &t) < 0)
		return;
	for (size_t i = 1; i < t.members.list.n; i++)
		kill((pid_t)t.members.list.v[i].pid, SIGKILL);
	target_free(&t);
}

static void kill_at_any_moment(enum hold_way way, size_t heads, bool guardian_too)
{
	struct trees trees = start_trees(heads);
	struct state before;

	if (!can(way, &trees)) {
		end_trees(&trees);
		skip();
	}
	read_state(&trees, &before);
	assert_int_equal(before.n, 3 * heads);
	for (unsigned i = 0; i < kills; i++) {
		pid_t holder = fork();
		int64_t killed;

		if (holder == 0)
			seize(&trees, way);
		usleep((unsigned)random() % 60000);
		if (guardian_too) {
			kill(holder, SIGSTOP); /* both at one moment */
			kill_guardian(holder);
		}
		kill(holder, SIGKILL);
		killed = clock_monotonic();
		waitpid(holder, NULL, 0);
		if (guardian_too)
			while (hold_sweep(PROC, run_dir) < 0 || !is_back(&trees, &before)) {
				/* the hold watchdog may not be quite dead */
				assert_true(clock_monotonic() - killed < PATIENCE);
				poll(NULL, 0, 5);
			}
		while (!is_back(&trees, &before)) {
			if (clock_monotonic() - killed > PATIENCE)
				print_message("kill %u was not undone: %s\n", i, run_dir);
			assert_true(clock_monotonic() - killed <= PATIENCE);
			poll(NULL, 0, 2);
		}
		if (getenv("VERBOSE"))
			print_message("%s %u: %.3f s\n", hold_way_names[way], i,
				      (double)(clock_monotonic() - killed) / 1e9);
		if (clock_monotonic() - killed > longest)
			longest = clock_monotonic() - killed;
	}
	end_trees(&trees);
}

static void killed_limit_is_undone(void **state)
{
	kill_at_any_moment(WAY_LIMIT, 1, false);
}

static void killed_freeze_is_undone(void **state)
{
	kill_at_any_moment(WAY_FREEZE, 1, false);
}

static void killed_class_is_undone(void **state)
{
	kill_at_any_moment(WAY_CLASS, 1, false);
}

static void killed_several_held_together_are_given_back(void **state)
{
	kill_at_any_moment(WAY_LIMIT, HEADS, false);
	kill_at_any_moment(WAY_CLASS, HEADS, false);
}

static void killed_with_its_guardian_a_sweep_undoes_it(void **state)
{
	kill_at_any_moment(WAY_LIMIT, HEADS, true);
	kill_at_any_moment(WAY_CLASS, HEADS, true);
}

static void standing_still_it_is_undone(void **state)
{
	struct hold_request q = request(WAY_CLASS);
	struct trees trees = start_trees(1);
	pid_t holder;
	struct state before;
	int64_t stopped;

	read_state(&trees, &before);
	holder = fork();
	if (holder == 0) {
		struct guarded_hold *c;
		struct target t;
		char *words;

		find_trees(&trees, &t);
		if (guarded_hold_begin(&q, &t, &c, &words) < 0 ||
		    guarded_hold_apply(c) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	while (is_back(&trees, &before))
		poll(NULL, 0, 5);
	stopped = clock_monotonic();
	while (!is_back(&trees, &before)) {
		assert_true(clock_monotonic() - stopped < PATIENCE + HOLD_WATCHDOG_PATIENCE * NS_PER_MS);
		poll(NULL, 0, 20);
	}
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	end_trees(&trees);
}

static int begin_as(uint32_t uid, enum hold_way way, const struct trees *trees, struct guarded_hold **ret)
{
	struct hold_request q = request(way);
	_cleanup_free_ char *words = NULL;
	struct target t;
	int r;

	q.rights.viewer = uid;
	find_trees(trees, &t);
	r = guarded_hold_begin(&q, &t, ret, &words);
	if (r < 0)
		print_message("%s\n", words ? words : strerror(-r));
	target_free(&t);
	return r;
}

/* What one user holds back keeps neither another user nor root from holding; of the same process root's goes before the user's. */
static void root_goes_before_a_user(void **state)
{
	static const enum hold_way ways[] = {WAY_CLASS, WAY_LIMIT};

	for (size_t w = 0; w < ARRAY_SIZE(ways); w++) {
		struct trees theirs = start_trees_of(1, NOBODY), mine = start_trees(1);
		struct guarded_hold *user, *root, *other;
		struct state before;

		read_state(&theirs, &before);
		if (begin_as(NOBODY, ways[w], &theirs, &user) < 0) {
			end_trees(&theirs);
			end_trees(&mine);
			continue;
		}
		assert_int_equal(guarded_hold_apply(user), 0);
		assert_int_equal(begin_as(0, WAY_CLASS, &mine, &other), 0);
		assert_int_equal(guarded_hold_end(other, false), 0);
		assert_int_equal(begin_as(0, ways[w], &theirs, &root), 0);
		assert_int_equal(guarded_hold_apply(user), -EOWNERDEAD);
		assert_int_equal(guarded_hold_apply(root), 0);
		assert_int_equal(guarded_hold_end(user, false), 0);
		assert_false(is_back(&theirs, &before)); /* root's stays */
		assert_int_equal(guarded_hold_end(root, false), 0);
		assert_true(is_back(&theirs, &before));
		end_trees(&theirs);
		end_trees(&mine);
	}
}

/* A child that begins while its parent is held back comes back with it. */
static void younger_children_come_back_too(void **state)
{
	static const enum hold_way ways[] = {WAY_CLASS, WAY_LIMIT};
	_cleanup_free_ char *words = NULL;
	struct guarded_hold *c;

	for (size_t w = 0; w < ARRAY_SIZE(ways); w++) {
		struct hold_request q = request(ways[w]);
		struct trees trees = {.head = {fork()}, .n = 1};
		pid_t pid = trees.head[0];
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
		if (guarded_hold_begin(&q, &t, &c, &words) < 0) {
			print_message("%s: %s\n", hold_way_names[ways[w]], words);
			end_trees(&trees);
			target_free(&t);
			continue;
		}
		assert_int_equal(guarded_hold_apply(c), 0);
		poll(NULL, 0, 900);
		assert_int_equal(guarded_hold_end(c, false), 0);
		assert_int_equal(target_find(PROC, (uint32_t)pid, &after), 0);
		for (size_t i = 0; i < after.members.list.n; i++)
			assert_int_equal(sched_getscheduler((pid_t)after.members.list.v[i].pid), SCHED_OTHER);
		read_state(&trees, &now);
		assert_null(strstr(now.groups[0], "whyslow"));
		target_free(&t);
		target_free(&after);
		/* nothing of the session is left in the idle class */
		{
			struct processes all;

			assert_int_equal(processes_read(PROC, &all), 0);
			for (size_t i = 0; i < all.list.n; i++)
				if (all.list.v[i].session == (uint32_t)pid)
					assert_int_equal(sched_getscheduler((pid_t)all.list.v[i].pid),
							 SCHED_OTHER);
			processes_free(&all);
		}
		end_trees(&trees);
	}
}

/* One begins later and joins: both trees are in the hold's group while they are held. */
static void who_joins_is_held_and_given_back_too(void **state)
{
	struct hold_request q = request(WAY_LIMIT);
	struct trees trees = start_trees(1), both;
	struct state before, held;
	_cleanup_free_ char *words = NULL;
	struct guarded_hold *c;
	struct target t;

	find_trees(&trees, &t);
	if (guarded_hold_begin(&q, &t, &c, &words) < 0) {
		print_message("%s\n", words);
		end_trees(&trees);
		target_free(&t);
		skip();
	}
	target_free(&t);
	both = start_trees(1);
	both = (struct trees){{trees.head[0], both.head[0]}, 2};
	read_state(&both, &before);
	assert_int_equal(before.n, 6);
	find_trees(&both, &t);
	assert_int_equal(guarded_hold_join(c, &t), 0);
	assert_int_equal(guarded_hold_apply(c), 0);
	read_state(&both, &held);
	for (size_t i = 0; i < held.n; i++)
		assert_non_null(strstr(held.groups[i], "whyslow"));
	assert_int_equal(guarded_hold_end(c, false), 0);
	assert_true(is_back(&both, &before));
	target_free(&t);
	end_trees(&both);
}

static void kept_ones_stay_until_given_back(void **state)
{
	struct hold_request q = request(WAY_CLASS);
	struct trees trees = start_trees(HEADS);
	struct state before;
	struct guarded_hold *c;
	struct target t;
	char *words = NULL;
	size_t n;

	read_state(&trees, &before);
	find_trees(&trees, &t);
	assert_int_equal(guarded_hold_begin(&q, &t, &c, &words), 0);
	assert_int_equal(guarded_hold_apply(c), 0);
	assert_int_equal(guarded_hold_end(c, true), 0);
	assert_int_equal(hold_sweep(PROC, run_dir), 0);
	for (size_t i = 0; i < HEADS; i++)
		assert_int_equal(sched_getscheduler(trees.head[i]), SCHED_IDLE);
	free(words);
	/* nothing takes it a second time, and none else's user gives it back */
	assert_int_equal(guarded_hold_begin(&q, &t, &c, &words), -EBUSY);
	assert_int_equal(guarded_hold_release(PROC, run_dir, (uint32_t)trees.head[0], 12345, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(guarded_hold_release(PROC, run_dir, (uint32_t)trees.head[1], 0, &n), 0);
	assert_int_equal(n, 1);
	assert_true(is_back(&trees, &before));
	free(words);
	target_free(&t);
	end_trees(&trees);
}

static struct hold kept_by_nobody(unsigned number, const struct target *t)
{
	struct hold h = {.kept = true, .by = NOBODY, .way = WAY_CLASS};

	snprintf(h.id, sizeof(h.id), "%u-1-u%u", number, NOBODY);
	assert_int_equal(clock_boot_id(PROC, h.boot), 0);
	assert_int_equal(processes_copy(&t->heads, &h.heads), 0);
	return h;
}

/* As `calm` does it: by a process that writes that it holds, then that it is kept, and ends. */
static void keep_one(struct hold *h)
{
	struct process holder = {.pid = (uint32_t)fork()};
	_cleanup_close_ int lock = -1;

	if (holder.pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(hold_lock(run_dir, NOBODY, &lock), 0);
	assert_int_equal(process_read(PROC, holder.pid, &holder), 0);
	h->kept = false;
	h->owner = holder.pid;
	h->owner_start = holder.start;
	assert_int_equal(hold_file_write(run_dir, h), 0);
	usleep((unsigned)random() % 1000);
	h->kept = true;
	h->owner = 0;
	assert_int_equal(hold_file_write(run_dir, h), 0);
	kill((pid_t)holder.pid, SIGKILL);
	waitpid((pid_t)holder.pid, NULL, 0);
}

#define KEPT_AT_ONCE 60

/* A sweep reads all holds before it judges them. */
static void what_is_kept_during_a_sweep_stays(void **state)
{
	struct trees trees = start_trees_of(1, NOBODY);
	struct target t;
	pid_t sweeper;
	size_t n;

	find_trees(&trees, &t);
	for (unsigned i = 1; i < KEPT_AT_ONCE; i++) {
		struct hold h = kept_by_nobody(i, &t);

		assert_int_equal(hold_file_write(run_dir, &h), 0);
		hold_free(&h);
	}
	sweeper = fork();
	while (sweeper == 0)
		(void)hold_sweep(PROC, run_dir);
	for (unsigned i = 0; i < 40 * kills; i++) {
		struct hold h = kept_by_nobody(KEPT_AT_ONCE + i, &t);

		keep_one(&h);
		poll(NULL, 0, 2);
		if (!hold_file_exists(run_dir, h.id))
			kill(sweeper, SIGKILL);
		assert_true(hold_file_exists(run_dir, h.id));
		assert_int_equal(hold_file_remove(run_dir, h.id), 0);
		hold_free(&h);
	}
	kill(sweeper, SIGKILL);
	waitpid(sweeper, NULL, 0);
	assert_int_equal(guarded_hold_release(PROC, run_dir, 0, NOBODY, &n), 0);
	assert_int_equal(n, KEPT_AT_ONCE - 1);
	target_free(&t);
	end_trees(&trees);
}

/* Its hold watchdog had heard nothing for too long. */
static void what_was_given_back_is_not_kept(void **state)
{
	struct trees trees = start_trees(1);
	struct guarded_hold *c;
	struct state before;

	(void)signal(SIGPIPE, SIG_IGN); /* as `calm` does */
	read_state(&trees, &before);
	assert_int_equal(begin_as(0, WAY_CLASS, &trees, &c), 0);
	assert_int_equal(guarded_hold_apply(c), 0);
	while (!is_back(&trees, &before))
		poll(NULL, 0, 20);
	assert_int_equal(guarded_hold_end(c, true), -EOWNERDEAD);
	assert_true(is_back(&trees, &before));
	end_trees(&trees);
}

/* A change that an administrator makes while a user holds a process back is not undone by that user's hold. */
static void what_another_changed_stays(void **state)
{
	struct trees trees = start_trees_of(1, NOBODY);
	const struct sched_param normal = {};
	struct guarded_hold *c;

	assert_int_equal(begin_as(NOBODY, WAY_CLASS, &trees, &c), 0);
	assert_int_equal(guarded_hold_apply(c), 0);
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)trees.head[0], 15), 0);
	assert_int_equal(guarded_hold_let_go(c), 0);
	assert_int_equal(sched_getscheduler(trees.head[0]), SCHED_OTHER);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)trees.head[0]), 15);
	assert_int_equal(guarded_hold_apply(c), 0);
	assert_int_equal(sched_setscheduler(trees.head[0], SCHED_BATCH, &normal), 0);
	assert_int_equal(guarded_hold_end(c, false), 0);
	assert_int_equal(sched_getscheduler(trees.head[0]), SCHED_BATCH);
	end_trees(&trees);
}

/* 0 = it has none at this moment. */
static pid_t child_of(pid_t parent)
{
	struct processes all;
	pid_t child = 0;

	assert_int_equal(processes_read(PROC, &all), 0);
	for (size_t i = 0; i < all.list.n; i++)
		if (all.list.v[i].parent == (uint32_t)parent)
			child = (pid_t)all.list.v[i].pid;
	processes_free(&all);
	return child;
}

/* A thread whose priority is not handed on to children: a child that begins while it is held back does not get it either. */
static void children_get_no_priority_by_it(void **state)
{
	const struct sched_param first = {.sched_priority = 1};
	struct trees trees = {.n = 1};
	struct guarded_hold *c;
	pid_t child = 0;
	int go[2];

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	trees.head[0] = fork();
	if (trees.head[0] == 0) {
		setsid();
		(void)dup2(go[0], STDIN_FILENO);
		if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &first) == 0)
			execl("/bin/sh", "sh", "-c", "read go; (sleep 1000); true", NULL);
		_exit(1);
	}
	for (int i = 0; i < 500 && sched_getscheduler(trees.head[0]) == SCHED_OTHER; i++)
		poll(NULL, 0, 10);
	if (sched_getscheduler(trees.head[0]) != (SCHED_RR | SCHED_RESET_ON_FORK)) { /* not allowed here */
		end_trees(&trees);
		skip();
	}
	assert_int_equal(begin_as(0, WAY_CLASS, &trees, &c), 0);
	assert_int_equal(guarded_hold_apply(c), 0);
	assert_int_equal(write(go[1], "\n", 1), 1);
	for (int i = 0; i < 1500 && !child; i++) { /* 30 s: an idle class gets its turn late */
		assert_int_equal(guarded_hold_alive(c), 0);
		poll(NULL, 0, 20);
		child = child_of(trees.head[0]);
	}
	assert_int_equal(guarded_hold_end(c, false), 0);
	assert_int_not_equal(child, 0);
	assert_int_equal(sched_getscheduler(trees.head[0]), SCHED_RR | SCHED_RESET_ON_FORK);
	assert_int_equal(sched_getscheduler(child), SCHED_OTHER);
	close(go[0]);
	close(go[1]);
	end_trees(&trees);
}

static void a_user_keeps_no_more_than_so_many(void **state)
{
	struct trees trees = start_trees_of(1, NOBODY);
	struct hold_request q = request(WAY_CLASS);
	_cleanup_free_ char *words = NULL;
	struct guarded_hold *c;
	struct target t;
	size_t n;

	find_trees(&trees, &t);
	for (unsigned i = 0; i < HOLDS_OF_ONE; i++) {
		struct hold h = kept_by_nobody(i + 1, &t);

		assert_int_equal(hold_file_write(run_dir, &h), 0);
		hold_free(&h);
	}
	q.rights.viewer = NOBODY;
	q.gentle = true;
	assert_int_equal(guarded_hold_begin(&q, &t, &c, &words), -EDQUOT);
	assert_non_null(strstr(words, "--undo"));
	assert_int_equal(guarded_hold_release(PROC, run_dir, 0, NOBODY, &n), 0);
	assert_int_equal(n, HOLDS_OF_ONE);
	target_free(&t);
	end_trees(&trees);
}

/* "0::/a/whyslow-1-1/whyslow-4711-123": whether its group in one of the hierarchies has this in its name. */
static bool is_in_group(pid_t pid, const char *part)
{
	char name[64], text[GROUPS] = "";
	_cleanup_close_ int fd = -1;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, text, GROUPS - 1) > 0);
	return strstr(text, part) != NULL;
}

/* As version 2's freezer finds it, or version 1's. */
static char *make_users_group(const char *name, struct cgroup_place *ret)
{
	char *path;

	if (cgroup_place_find(PROC, (uint32_t)getpid(), "", ret) < 0 && cgroup_place_find(PROC, (uint32_t)getpid(), "freezer", ret) < 0)
		return NULL;
	assert_true(asprintf(&path, "%s/%s", ret->path, name) > 0);
	(void)rmdir(path);
	if (mkdir(path, 0755) < 0 || chown(path, NOBODY, NOBODY) < 0) {
		free(path);
		cgroup_place_free(ret);
		return NULL;
	}
	return path;
}

static bool is_removed(const char *group)
{
	for (int i = 0; i < 300 && rmdir(group) < 0; i++) /* those that were killed in there are just ending */
		poll(NULL, 0, 10);
	return access(group, F_OK) < 0;
}

static void put_into(const char *group, const struct trees *trees)
{
	_cleanup_(target_free) struct target t = {};
	_cleanup_free_ char *procs = NULL;

	find_trees(trees, &t);
	assert_true(asprintf(&procs, "%s/cgroup.procs", group) > 0);
	for (size_t i = 0; i < t.members.list.n; i++) {
		char pid[16];

		snprintf(pid, sizeof(pid), "%u", t.members.list.v[i].pid);
		assert_int_equal(hold_group_write(procs, pid), 0);
	}
}

/* Users give groups that are theirs any name, also one of a hold: who is in there is held all the same. */
static void a_group_that_is_named_like_that_of_a_hold_does_not_hide(void **state)
{
	struct trees trees = start_trees_of(1, NOBODY);
	struct cgroup_place own = {};
	_cleanup_free_ char *group = can(WAY_FREEZE, &trees) ? make_users_group("whyslow-1-1", &own) : NULL;
	struct guarded_hold *c;

	if (!group) {
		end_trees(&trees);
		skip();
	}
	put_into(group, &trees);
	assert_int_equal(begin_as(0, WAY_FREEZE, &trees, &c), 0);
	assert_int_equal(guarded_hold_apply(c), 0);
	assert_true(is_in_group(trees.head[0], "/whyslow-1-1/whyslow-"));
	assert_int_equal(guarded_hold_end(c, false), 0);
	assert_true(is_in_group(trees.head[0], "/whyslow-1-1\n"));
	end_trees(&trees);
	assert_true(is_removed(group));
	cgroup_place_free(&own);
}

/* A process that changes its group between the plan and the move is not said to be held. */
static void who_left_the_group_is_not_held(void **state)
{
	struct trees trees = start_trees_of(1, NOBODY);
	struct cgroup_place own = {};
	_cleanup_free_ char *group = make_users_group("elsewhere-1", &own), *path = NULL;
	_cleanup_(target_free) struct target t = {};
	struct hold h = {};

	if (!group) {
		end_trees(&trees);
		skip();
	}
	find_trees(&trees, &t);
	assert_int_equal(processes_copy(&t.heads, &h.heads), 0);
	assert_true(asprintf(&path, "%s/whyslow-1-2", own.path) > 0);
	assert_int_equal(VEC_PUSH(h.steps, (struct hold_step){STEP_MOVE, strdup(path), NULL, strdup(own.path)}), 0);
	put_into(group, &trees);
	assert_int_equal(hold_do(PROC, &h), -EAGAIN);
	assert_int_equal(hold_undo(PROC, &h), 0);
	assert_true(is_in_group(trees.head[0], "/elsewhere-1\n"));
	put_into(own.path, &trees);
	assert_int_equal(hold_do(PROC, &h), 0);
	assert_int_equal(hold_undo(PROC, &h), 0);
	end_trees(&trees);
	hold_free(&h);
	assert_true(is_removed(group));
	cgroup_place_free(&own);
}

static int clean_up(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", run_dir);
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_limit_is_undone),
		cmocka_unit_test(killed_freeze_is_undone),
		cmocka_unit_test(killed_class_is_undone),
		cmocka_unit_test(killed_several_held_together_are_given_back),
		cmocka_unit_test(killed_with_its_guardian_a_sweep_undoes_it),
		cmocka_unit_test(root_goes_before_a_user), cmocka_unit_test(standing_still_it_is_undone),
		cmocka_unit_test(younger_children_come_back_too),
		cmocka_unit_test(who_joins_is_held_and_given_back_too),
		cmocka_unit_test(kept_ones_stay_until_given_back), cmocka_unit_test(what_is_kept_during_a_sweep_stays),
		cmocka_unit_test(what_was_given_back_is_not_kept),
		cmocka_unit_test(what_another_changed_stays),
		cmocka_unit_test(children_get_no_priority_by_it),
		cmocka_unit_test(a_user_keeps_no_more_than_so_many),
		cmocka_unit_test(a_group_that_is_named_like_that_of_a_hold_does_not_hide),
		cmocka_unit_test(who_left_the_group_is_not_held),
	};
	int failed;

	if (geteuid() != 0) {
		puts("needs root");
		return 77;
	}
	if (argc > 1)
		kills = (unsigned)atoi(argv[1]);
	srandom((unsigned)clock_monotonic());
	if (!mkdtemp(run_dir))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, clean_up);
	printf("longest until a killed holder's process was back: %.3f s\n", (double)longest / 1e9);
	return failed;
}
