#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/folder.h"
#include "machine/act/cgroup-place.h"
#include "machine/act/experiment.h"
#include "machine/act/hold-file.h"
#include "machine/act/test-target.h"

static char root[] = "/tmp/test-act-XXXXXX";

/* Writes a file below the test's folder, with whatever is missing above it. */
static void put(const char *path, const char *text)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_fclose_ FILE *f = NULL;

	assert_true(asprintf(&name, "%s/%s", root, path) > 0);
	assert_int_equal(folder_make_parent(name, 0755), 0);
	f = fopen(name, "we");
	assert_non_null(f);
	fputs(text, f);
}

static char *get(const char *path)
{
	static char text[256];
	_cleanup_free_ char *name = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	size_t n;

	assert_true(asprintf(&name, "%s/%s", root, path) > 0);
	f = fopen(name, "re");
	if (!f)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	return text;
}

static void put_process(unsigned pid, unsigned parent, const char *name, const char *rest)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%u/stat", pid);
	snprintf(text, sizeof(text), "%u (%s) S %u %s", pid, name, parent, rest);
	put(path, text);
}

static void put_link(const char *path, const char *target)
{
	_cleanup_free_ char *name = NULL;

	assert_true(asprintf(&name, "%s/%s", root, path) > 0);
	assert_int_equal(folder_make_parent(name, 0755), 0);
	assert_int_equal(symlink(target, name), 0);
}

/* group, session, terminal, foreground group, flags; ...; threads, 0, start */
#define REST(start) "7 7 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 " start " 0 0\n"

static void groups_of_both_versions_are_found(void **state)
{
	struct cgroup_place p;

	put("7/cgroup",
	    "9:name=systemd:/a.slice/b.service\n3:cpuset:/\n2:cpu,cpuacct:/a.slice\n0::/a.slice/b.service\n");
	put("self/mountinfo", "26 25 0:26 / /c/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
			      "27 25 0:27 / /c/set rw,relatime - cgroup cgroup rw,cpuset\n"
			      "37 25 0:34 / /c/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n");
	assert_int_equal(cgroup_place_find(root, 7, "cpu", &p), 0);
	assert_string_equal(p.path, "/c/cpu/a.slice");
	assert_false(p.unified);
	cgroup_place_free(&p);
	assert_int_equal(cgroup_place_find(root, 7, "cpuset", &p), 0); /* not the one whose name begins in the same way */
	assert_string_equal(p.path, "/c/set");
	cgroup_place_free(&p);
	assert_int_equal(cgroup_place_find(root, 7, "", &p), 0);
	assert_string_equal(p.path, "/c/unified/a.slice/b.service");
	assert_true(p.unified);
	cgroup_place_free(&p);
	assert_int_equal(cgroup_place_find(root, 7, "freezer", &p), -ENOENT);
	assert_int_equal(cgroup_place_find(root, 8, "cpu", &p), -ESRCH);
	/* within a container only a part is mounted, and a group outside of it cannot be reached */
	put("self/mountinfo", "26 25 0:26 /a.slice /c/cpu rw - cgroup cgroup rw,cpu,cpuacct\n37 25 0:34 "
			      "/other /c/unified rw - cgroup2 cgroup2 rw\n");
	assert_int_equal(cgroup_place_find(root, 7, "cpu", &p), 0);
	assert_string_equal(p.path, "/c/cpu");
	cgroup_place_free(&p);
	assert_int_equal(cgroup_place_find(root, 7, "", &p), -ENOENT);
}

/* Something's hold of this process continues: the next one begins next to it, the one that the first one's user is. */
static void a_group_that_a_hold_made_is_left(void **state)
{
	static const struct {
		const char *group, *found;
	} cases[] = {
		{"/whyslow-7-100", "/c"},
		{"/a.slice/whyslow-7-100", "/c/a.slice"},
		{"/a.slice/whyslow-7-100-u65534", "/c/a.slice"},
		{"/a.slice/whyslow-7-100-u65534/whyslow-7-100", "/c/a.slice"},
		{"/a.slice/whyslow-web.service", "/c/a.slice/whyslow-web.service"},
		{"/a.slice/whyslow-7-100-u", "/c/a.slice/whyslow-7-100-u"},
		{"/a.slice/whyslow-7", "/c/a.slice/whyslow-7"},
		{"/a.slice/whyslow--7-100", "/c/a.slice/whyslow--7-100"},
	};

	put("self/mountinfo", "37 25 0:34 / /c rw - cgroup2 cgroup2 rw\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[128];
		struct cgroup_place p;

		snprintf(text, sizeof(text), "0::%s\n", cases[i].group);
		put("7/cgroup", text);
		assert_int_equal(cgroup_place_find(root, 7, "", &p), 0);
		assert_string_equal(p.path, cases[i].found);
		cgroup_place_free(&p);
	}
}

/* A user has made it: below it a hold begins as in any other group. */
static void a_group_that_a_user_named_like_that_of_a_hold_is_not_left(void **state)
{
	struct cgroup_place p;
	char path[128], line[256];

	if (geteuid() != 0)
		skip();
	snprintf(line, sizeof(line), "37 25 0:34 / %s/users rw - cgroup2 cgroup2 rw\n", root);
	put("self/mountinfo", line);
	put("users/whyslow-7-100/cgroup.procs", "");
	put("7/cgroup", "0::/whyslow-7-100\n");
	snprintf(path, sizeof(path), "%s/users/whyslow-7-100", root);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(cgroup_place_find(root, 7, "", &p), 0);
	assert_string_equal(p.path, path);
	cgroup_place_free(&p);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(cgroup_place_find(root, 7, "", &p), 0);
	path[strlen(path) - strlen("/whyslow-7-100")] = '\0';
	assert_string_equal(p.path, path);
	cgroup_place_free(&p);
}

static void a_target_is_a_process_with_its_descendants(void **state)
{
	struct process p;
	struct target t;

	put_process(7, 1, "a) b (c", REST("100"));
	put_process(9, 12, "grandchild",
		    REST("300")); /* numbers start again: a child may be the smaller one */
	put_process(12, 7, "child", REST("200"));
	put_process(13, 1, "other", REST("200"));
	assert_int_equal(target_find(root, 7, &t), 0);
	assert_string_equal(target_head(&t)->name, "a) b (c");
	assert_int_equal(target_head(&t)->start, 100);
	assert_int_equal(t.members.list.n, 3);
	assert_true(target_has(&t, 9) && target_has(&t, 12) && !target_has(&t, 13));
	target_free(&t);
	assert_int_equal(target_find(root, 99, &t), -ESRCH);
	assert_true(process_lives(root, 7, 100) && !process_lives(root, 7, 101));
	put("14/stat", "14 (zombie) Z 1 " REST("5"));
	assert_int_equal(process_read(root, 14, &p), 0);
	assert_true(p.ended && !process_lives(root, 14, 5));
}

static void several_are_one_target_with_all_their_descendants(void **state)
{
	struct process a, b;
	struct processes heads = {};
	struct target t;

	put_process(40, 1, "shell", REST("10"));
	put_process(41, 40, "sum", REST("20"));
	put_process(42, 40, "sum", REST("30"));
	put_process(43, 42, "child", REST("40"));
	put_process(44, 40, "other", REST("50"));
	put_process(45, 1, "sum", REST("50"));
	assert_int_equal(process_read(root, 42, &a), 0);
	assert_int_equal(process_read(root, 41, &b), 0);
	assert_int_equal(VEC_PUSH(heads.list, a), 0);
	assert_int_equal(VEC_PUSH(heads.list, b), 0);
	assert_int_equal(target_of(root, &heads, false, &t), 0);
	assert_int_equal(target_head(&t)->pid, 42);
	assert_true(t.members.list.n == 3 && target_has(&t, 41) && target_has(&t, 42) && target_has(&t, 43));
	target_free(&t);
	/* one has ended, and its number is another's now; what the same shell begins under the same name joins, if it may */
	put_process(41, 1, "another", REST("60"));
	put_process(46, 40, "sum", REST("60"));
	assert_int_equal(target_of(root, &heads, false, &t), 0);
	assert_true(t.members.list.n == 2 && target_has(&t, 42) && target_has(&t, 43));
	target_free(&t);
	assert_int_equal(target_of(root, &heads, true, &t), 0);
	assert_true(t.heads.list.n == 3 && t.members.list.n == 3 && target_has(&t, 46));
	target_free(&t);
	put("42/stat", "42 (sum) Z 40 " REST("30"));
	assert_int_equal(target_of(root, &heads, false, &t), -ESRCH);
	processes_free(&heads);
}

static void must_be_left_alone(uint32_t pid, const struct refusal_options *o, const char *words)
{
	_cleanup_free_ char *why = NULL;
	struct target t;

	assert_int_equal(target_find(root, pid, &t), 0);
	assert_int_equal(target_refuse(root, &t, o, &why), words ? -EPERM : 0);
	if (words)
		assert_non_null(strstr(why, words));
	target_free(&t);
}

/* The one who asks sees no other users' processes: neither the name nor what it is may be said. */
static void must_seem_absent(uint32_t pid, const struct refusal_options *o)
{
	_cleanup_free_ char *why = NULL;
	struct target t;

	assert_int_equal(target_find(root, pid, &t), 0);
	assert_int_equal(target_refuse(root, &t, o, &why), -ESRCH);
	assert_non_null(strstr(why, "there is no process"));
	assert_null(strstr(why, target_head(&t)->name));
	target_free(&t);
}

static void what_people_need_is_left_alone(void **state)
{
	struct refusal_options all = {0, false, false}, force = {0, true, false}, stranger = {4242, true, false}, blind = {4242, true, true};

	put_process(1, 0, "init", REST("1"));
	put_process(20, 2, "kworker/0:1", "0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
	put_process(21, 1, "xterm", REST("5"));
	put_process(22, 21, "bash", "22 22 34816 23 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
	put_process(23, 22, "game", "23 22 34816 23 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
	put_process(24, 22, "make", "24 22 34816 23 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
	put_process(25, 1, "systemd", REST("5"));
	put_process(26, 1, "Xorg", REST("5"));
	put_process(27, 1, "login", REST("5"));
	put_link("27/exe", "/usr/bin/true");
	put_process(29, 1, "systemd-logind", REST("5"));
	put_link("29/exe", "/tmp/systemd-logind (deleted)");
	put("26/net/unix", "Num       RefCount Protocol Flags    Type St Inode Path\n"
			   "00000000: 00000002 00000000 00010000 0001 01 777 /tmp/.X11-unix/X0\n");
	put_link("26/fd/3", "socket:[777]");
	must_be_left_alone(1, &all, "first process");
	must_be_left_alone(20, &all, "kernel thread");
	must_be_left_alone(22, &all, "shell of a session");
	must_be_left_alone(21, &all, "terminal or login");
	must_be_left_alone(25, &all, "manager");
	must_be_left_alone(26, &force, "display server");
	must_be_left_alone(27, &all, NULL); /* another program that took the name */
	must_be_left_alone(29, &all, NULL); /* a file of that name that is not root's, or not there */
	if (access("/usr/bin/login", F_OK) == 0) {
		put_process(28, 1, "login", REST("5"));
		put_link("28/exe", "/usr/bin/login");
		must_be_left_alone(28, &all, "a login");
	}
	must_be_left_alone(23, &all, "--force");
	must_be_left_alone(23, &force, NULL);
	must_be_left_alone(24, &all, NULL); /* in the background */
	must_be_left_alone(24, &stranger, "not yours");
	must_seem_absent(24, &blind);
	must_seem_absent(26, &blind);
	must_be_left_alone(22, &force, "shell of a session"); /* force is for the foreground alone */
}

static void assert_same_process(const struct process *a, const struct process *b)
{
	assert_string_equal(a->name, b->name);
	assert_true(a->pid == b->pid && a->start == b->start && a->group == b->group && a->session == b->session);
}

static void assert_same_thread(const struct hold_thread *a, const struct hold_thread *b)
{
	assert_true(a->tid == b->tid && a->process == b->process && a->start == b->start && a->policy == b->policy);
	assert_true(a->priority == b->priority && a->nice == b->nice && a->flags == b->flags && a->io == b->io);
	assert_true(a->runtime == b->runtime && a->deadline == b->deadline && a->period == b->period);
}

static void a_hold_is_read_as_it_was_written(void **state)
{
	struct hold h = {.id = "7-100",
			 .boot = "b",
			 .of = SHORT_DISK,
			 .way = WAY_FREEZE,
			 .kept = true,
			 .by = 1000,
			 .since = -5,
			 .owner = 11,
			 .owner_start = 12,
			 .guardian = 13,
			 .hold_watchdog_start = 1ull << 40};
	struct process first = {.pid = 7, .start = 100, .name = "a) b\n\t\\x (c", .group = 3, .session = 4}, second = {.pid = 6, .start = 90, .name = "-"};
	struct hold back;

	assert_int_equal(VEC_PUSH(h.heads.list, first), 0);
	assert_int_equal(VEC_PUSH(h.heads.list, second), 0);
	assert_int_equal(VEC_PUSH(h.steps, (struct hold_step){STEP_MOVE, strdup("/a b\t\n\\x2d"), NULL, strdup("-")}),
			 0);
	assert_int_equal(VEC_PUSH(h.threads, (struct hold_thread){.tid = 8,
								  .process = 7,
								  .start = 9,
								  .policy = 3,
								  .nice = -4,
								  .io = 24580,
								  .runtime = 1ull << 50}),
			 0);
	assert_int_equal(hold_file_write(root, &h), 0);
	assert_int_equal(hold_file_read(root, "7-100", &back), 0);
	assert_int_equal(back.heads.list.n, 2);
	assert_same_process(&back.heads.list.v[0], &first);
	assert_same_process(&back.heads.list.v[1], &second);
	assert_string_equal(back.unit, "");
	assert_true(back.of == SHORT_DISK && back.way == WAY_FREEZE &&
		    back.kept && back.by == 1000 && back.since == -5);
	assert_true(back.owner == 11 && back.owner_start == 12 && back.guardian == 13 &&
		    back.hold_watchdog_start == 1ull << 40);
	assert_int_equal(back.steps.n, 1);
	assert_string_equal(back.steps.v[0].path, "/a b\t\n\\x2d");
	assert_string_equal(back.steps.v[0].before, "-");
	assert_null(back.steps.v[0].value);
	assert_same_thread(&back.threads.v[0], &h.threads.v[0]);
	hold_free(&back);
	hold_free(&h);
}

/* Undoing writes wherever a file says: half of one, or a stranger's, must not be followed. */
static void what_is_not_whole_or_not_ours_is_not_believed(void **state)
{
	struct hold h;

	put("held/5-5", "whyslow.held/1\nboot\tb\nwrite\t/x\t1\t0\n");
	assert_int_equal(hold_file_read(root, "5-5", &h), -EBADMSG);
	put("held/5-6", "something else\nend\n");
	assert_int_equal(hold_file_read(root, "5-6", &h), -EBADMSG);
	put("held/5-8", "whyslow.held/1\nend\n"); /* of none */
	assert_int_equal(hold_file_read(root, "5-8", &h), -EBADMSG);
	put("held/5-7", "whyslow.held/1\nwho\t5\t7\t0\t0\tname\nwrite\t/a\\x2db\t1\t-\nend\n");
	assert_int_equal(hold_file_read(root, "5-7", &h), 0);
	assert_string_equal(h.steps.v[0].path, "/a\\x2db"); /* version 1 quoted nothing */
	assert_null(h.steps.v[0].before);
	hold_free(&h);
	{
		_cleanup_free_ char *name = NULL;

		assert_true(asprintf(&name, "%s/held/5-7", root) > 0);
		assert_int_equal(chmod(name, 0666), 0);
	}
	assert_int_equal(hold_file_read(root, "5-7", &h), -EPERM);
}

static void each_user_has_a_lock(void **state)
{
	int first, second, third, again;

	assert_int_equal(hold_lock(root, 1000, &first), 0);
	assert_int_equal(hold_lock(root, 1000, &again), -EBUSY);
	assert_int_equal(hold_lock(root, 1001, &second), 0);
	assert_int_equal(hold_lock(root, 0, &third), 0);
	assert_int_equal(hold_lock(root, 0, &again), -EBUSY);
	close(first);
	close(second);
	close(third);
}

static void half_a_file_is_removed_under_its_users_lock(void **state)
{
	int lock;

	put("held/7-100-u1000.new", "whyslow.held/2\n");
	put("held/7-100.new", "whyslow.held/2\n");
	assert_int_equal(hold_lock(root, 1000, &lock), 0);
	assert_int_equal(hold_sweep(root, root), 0);
	assert_null(get("held/7-100.new"));
	assert_non_null(get("held/7-100-u1000.new"));
	close(lock);
	assert_int_equal(hold_sweep(root, root), 0);
	assert_null(get("held/7-100-u1000.new"));
}

static bool has_group(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cg/a/%s", root, name);
	return access(path, F_OK) == 0;
}

static void make_group(const char *name, time_t age)
{
	char path[128];
	struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};

	snprintf(path, sizeof(path), "%s/cg", root);
	(void)mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/cg/a", root);
	(void)mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/cg/a/%s", root, name);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A folder that a hold still needs has a file, is young, or has something in it. */
static void empty_groups_of_old_holds_are_removed(void **state)
{
	char line[256];

	snprintf(line, sizeof(line), "29 25 0:26 / %s/cg rw,relatime - cgroup cgroup rw,cpu\n", root);
	put("self/mountinfo", line);
	make_group("whyslow-41-1", 3600);
	make_group("whyslow-42-1-u1000", 3600);
	make_group("whyslow-43-1", 3600);
	make_group("whyslow-44-1", 0);
	make_group("others", 3600);
	make_group("whyslow-45-1", 3600);
	put("held/43-1", "whyslow.held/2\n");
	put("cg/a/whyslow-45-1/cgroup.procs", "1\n");
	{
		char path[128];
		struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

		snprintf(path, sizeof(path), "%s/cg/a/whyslow-45-1", root);
		assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	}
	(void)hold_sweep(root, root);
	assert_false(has_group("whyslow-41-1"));
	assert_false(has_group("whyslow-42-1-u1000"));
	assert_true(has_group("whyslow-43-1") && has_group("whyslow-44-1") && has_group("others") && has_group("whyslow-45-1"));
}

/* A program names itself; it is found, held and given back all the same, and so are its children. */
static void a_name_with_a_newline_is_found(void **state)
{
	struct process p;

	put_process(31, 1, "a\n1 (b) R 9", REST("100"));
	assert_int_equal(process_read(root, 31, &p), 0);
	assert_int_equal(p.pid, 31);
	assert_int_equal(p.parent, 1);
	assert_int_equal(p.start, 100);
	assert_string_equal(p.name, "a 1 (b) R 9");
	put_process(31, 1, "x\n", REST("100"));
	assert_int_equal(process_read(root, 31, &p), 0);
	assert_string_equal(p.name, "x ");
}

static void put_held(const char *id, const char *boot, const char *kept)
{
	char path[64], text[512];

	put("knob", "held\n");
	snprintf(path, sizeof(path), "held/%s", id);
	snprintf(text, sizeof(text),
		 "whyslow.held/"
		 "1\nboot\t%s\nwho\t7\t100\t0\t0\tname\nby\t0\t0\t%s\nowner\t13\t200\t0\t0\nwrite\t%s/"
		 "knob\theld\tfree\nend\n",
		 boot, kept, root);
	put(path, text);
}

static bool swept(void)
{
	int r = hold_sweep(root, root);

	assert_int_equal(r, 0);
	return strncmp(get("knob"), "free", 4) == 0;
}

static void a_sweep_undoes_what_nobody_minds(void **state)
{
	put("sys/kernel/random/boot_id", "this-boot\n");
	put_process(7, 1, "held", REST("100"));
	put_process(13, 1, "owner", REST("200"));
	put_held("7-100", "this-boot", "0");
	assert_false(swept()); /* its owner lives */
	put_process(13, 1, "another", REST("201"));
	assert_true(swept());
	assert_null(get("held/7-100"));
	put_held("7-100", "this-boot", "1");
	assert_false(swept()); /* kept, and the process lives */
	assert_non_null(get("held/7-100"));
	put_process(7, 1, "another", REST("101"));
	assert_true(swept());
	put_held("7-100", "boot-before", "0");
	assert_false(swept()); /* of another boot: that ended with it */
	assert_null(get("held/7-100"));
	assert_true(hold_sweep(root, "/nowhere/at/all") == 0);
}

/* --- the experiment --- */

struct world {
	int64_t now;
	bool held;
	int changes, looks, ready_at;
	int fail_at; /* this look fails; 0 = none */
};
static struct world world;

static int64_t world_now(void)
{
	return world.now;
}

static int world_change(void *data, bool held)
{
	(void)data;
	assert_true(held != world.held || !held);
	world.held = held;
	world.changes++;
	return 0;
}

static int world_look(void *data, struct trial_sample *ret)
{
	(void)data;
	ret->waits = world.held ? 0.1 : 0.6;
	return ++world.looks == world.fail_at ? -ESRCH : 0;
}

static int world_rest(void *data, int64_t until)
{
	(void)data;
	assert_true(until > world.now);
	world.now = until + 1000; /* nothing wakes in time */
	return 0;
}

static int world_ready(void *data)
{
	(void)data;
	world.ready_at = world.looks;
	return 0;
}

static const struct experiment in_the_world = {.before = 1000 * NS_PER_MS,
					       .after = 500 * NS_PER_MS,
					       .settle = 500 * NS_PER_MS,
					       .phase = 2000 * NS_PER_MS,
					       .sample = 250 * NS_PER_MS,
					       .change = world_change,
					       .look = world_look,
					       .rest = world_rest,
					       .now = world_now,
					       .ready = world_ready};

static void phases_are_held_and_let_go_in_their_order(void **state)
{
	static const bool order[TRIAL_PHASES] = {true, true, false, true, false, false, true, false};
	struct trial t = {};

	world = (struct world){.now = 77};
	for (int i = 0; i < TRIAL_PHASES; i++)
		t.phases[i].held = order[i];
	assert_int_equal(experiment_run(&in_the_world, &t), 0);
	assert_false(world.held);
	assert_int_equal(world.changes, 7); /* six changes of the order, and once more let go at the end */
	assert_int_equal(world.ready_at, 1 + 4);
	for (size_t i = 0; i < t.samples.n; i++) {
		const struct trial_sample *s = &t.samples.v[i];
		bool held = s->phase >= 0 && s->phase < TRIAL_PHASES && order[s->phase];

		assert_true(s->held == held && s->waits == (held ? 0.1 : 0.6));
		assert_true(i == 0 || s->at > t.samples.v[i - 1].at);
	}
	/* 4 before, 8 phases of 2 that settle and 8 that count, 2 after; being late costs no sample */
	assert_int_equal(t.samples.n, 4 + 8 * 10 + 2);
	trial_free(&t);
}

static void an_experiment_that_fails_lets_go(void **state)
{
	struct trial t = {};

	world = (struct world){.now = 77, .fail_at = 20};
	for (int i = 0; i < TRIAL_PHASES; i++)
		t.phases[i].held = i < 4;
	assert_int_equal(experiment_run(&in_the_world, &t), -ESRCH);
	assert_false(world.held);
	assert_int_equal(world.looks, 20);
	trial_free(&t);
}

static int set_up(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int clean_up(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_of_both_versions_are_found),
		cmocka_unit_test(a_group_that_a_hold_made_is_left),
		cmocka_unit_test(a_group_that_a_user_named_like_that_of_a_hold_is_not_left),
		cmocka_unit_test(a_target_is_a_process_with_its_descendants),
		cmocka_unit_test(several_are_one_target_with_all_their_descendants),
		cmocka_unit_test(what_people_need_is_left_alone),
		cmocka_unit_test(a_name_with_a_newline_is_found), cmocka_unit_test(a_hold_is_read_as_it_was_written),
		cmocka_unit_test(what_is_not_whole_or_not_ours_is_not_believed),
		cmocka_unit_test(a_sweep_undoes_what_nobody_minds), cmocka_unit_test(empty_groups_of_old_holds_are_removed), cmocka_unit_test(each_user_has_a_lock), cmocka_unit_test(half_a_file_is_removed_under_its_users_lock),
		cmocka_unit_test(phases_are_held_and_let_go_in_their_order),
		cmocka_unit_test(an_experiment_that_fails_lets_go),
	};

	return cmocka_run_group_tests(tests, set_up, clean_up);
}
