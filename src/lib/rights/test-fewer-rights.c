#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/rights/fewer-rights.h"

#define USER 12345

static char folder[] = "/tmp/whyslow-rights-XXXXXX"; /* readable/secret, other/secret: of root, mode 0600 */

static bool may_read(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_fd(&fd);
	return fd >= 0;
}

static bool may_write(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cleanup_fd(&fd);
	return fd >= 0;
}

static bool has_landlock(void)
{
	return syscall(444, NULL, 0, 1) > 0;
}

static bool reads_what_is_named(void)
{
	return may_read("readable/secret");
}

static bool reads_the_rest(void)
{
	return has_landlock() && may_read("other/secret");
}

static bool writes(void)
{
	return may_write("readable/secret") || may_write("readable/new") || may_write("own/new");
}

static bool executes(void)
{
	char *words[] = {"/bin/true", NULL};

	return execv(words[0], words) == 0;
}

static bool signals(void)
{
	return kill(getppid(), 0) == 0 || kill(getpid(), 0) == 0;
}

static bool traces(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static bool becomes_root(void)
{
	return setresuid(0, 0, 0) == 0 || setuid(0) == 0;
}

static bool talks_to_the_network(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0;
}

static bool makes_maps(void)
{
	union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes)) >= 0;
}

static bool enters_a_namespace(void)
{
	return syscall(SYS_unshare, CLONE_NEWUSER) == 0;
}

static bool has_the_ids(void)
{
	uid_t real, effective, saved;

	return syscall(SYS_getresuid, &real, &effective, &saved) < 0 && geteuid() == USER && getuid() == 0 && getegid() == USER;
}

static bool executes_in_a_child(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		(void)executes();
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool forks(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid > 0 && waitpid(pid, NULL, 0) == pid;
}

/* In a process of its own, with those rights: did it succeed? */
static bool attempt_with(const struct fewer_rights *to, bool (*what)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fewer_rights_take(to) < 0 ? 2 : what() ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 2);
	return WEXITSTATUS(status) == 1;
}

static const char *readable(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/readable", folder);
	return path;
}

static bool attempt(bool (*what)(void))
{
	const char *paths[] = {readable(), "/nowhere/at/all"};
	const struct fewer_rights to = {.uid = USER, .gid = USER, .readable = paths, .n_readable = ARRAY_SIZE(paths), .work = WORK_READS_MAPS};

	return attempt_with(&to, what);
}

/* As root, who may change what is in one folder. */
static bool attempt_as_root(unsigned work, bool (*what)(void))
{
	const char *paths[] = {readable()};
	const struct fewer_rights to = {.writable = paths, .n_writable = 1, .work = work};

	return attempt_with(&to, what);
}

static void without_paths_root_opens_nothing(void **state)
{
	const struct fewer_rights none = {};
	pid_t pid = fork();
	int status;

	if (!has_landlock())
		skip();
	if (pid == 0)
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || fewer_rights_restrict_paths(&none) < 0 || may_read("readable/secret") || may_write("own/new"));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void it_keeps_what_an_answer_needs(void **state)
{
	assert_true(attempt(has_the_ids));
	assert_true(attempt(reads_what_is_named));
	assert_true(attempt(forks));
}

static void it_loses_the_rest(void **state)
{
	static const struct {
		const char *what;
		bool (*try)(void);
	} attempts[] = {
		{"reads_the_rest", reads_the_rest}, {"writes", writes},		      {"executes", executes},
		{"signals", signals},		    {"traces", traces},		      {"becomes_root", becomes_root},
		{"makes_maps", makes_maps},	    {"talks_to_the_network", talks_to_the_network},
		{"enters_a_namespace", enters_a_namespace},
	};

	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
		if (attempt(attempts[i].try))
			fail_msg("it %s", attempts[i].what);
}

static bool makes_and_removes_files(void)
{
	char from[128], to[128], below[128];

	snprintf(from, sizeof(from), "%s/readable/new", folder);
	snprintf(to, sizeof(to), "%s/readable/newer", folder);
	snprintf(below, sizeof(below), "%s/readable/below", folder);
	return may_write("readable/new") && rename(from, to) == 0 && unlink(to) == 0 && mkdir(below, 0700) == 0 &&
	       rmdir(below) == 0;
}

static bool writes_elsewhere(void)
{
	return has_landlock() && (may_write("other/secret") || may_write("own/new"));
}

static bool changes_classes(void)
{
	const uint32_t idle[12] = {sizeof(idle), SCHED_IDLE}; /* struct sched_attr, whose header and sched.h exclude each other */

	return syscall(SYS_sched_setattr, getppid(), idle, 0) == 0;
}

static bool changes_owners(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/readable/secret", folder);
	return chown(path, USER, USER) == 0 || chmod(path, 0777) == 0;
}

static bool mounts(void)
{
	return mount("none", readable(), "tmpfs", 0, NULL) == 0;
}

static void one_that_writes_does_that_alone(void **state)
{
	static bool (*const attempts[])(void) = {executes, signals,	traces, talks_to_the_network, enters_a_namespace, writes_elsewhere,
						 mounts,   changes_owners, makes_maps, changes_classes};

	assert_true(attempt_as_root(WORK_WRITES, makes_and_removes_files));
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
		if (attempt_as_root(WORK_WRITES, attempts[i]))
			fail_msg("it did what attempt %zu is", i);
}

static void one_that_holds_does_that_alone(void **state)
{
	static bool (*const attempts[])(void) = {executes, signals, traces, talks_to_the_network, enters_a_namespace, writes_elsewhere,
						 mounts,   changes_owners, makes_maps};
	int policy = sched_getscheduler(0);
	const struct sched_param param = {};

	assert_true(attempt_as_root(WORK_HOLDS, makes_and_removes_files));
	assert_true(attempt_as_root(WORK_HOLDS, changes_classes));
	assert_int_equal(sched_setscheduler(0, policy, &param), 0);
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
		if (attempt_as_root(WORK_HOLDS, attempts[i]))
			fail_msg("it did what attempt %zu is", i);
}

static bool user_may_stop(uid_t user, pid_t pid)
{
	return setresuid(user, user, user) < 0 || kill(pid, SIGSTOP) == 0 || ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0;
}

static void no_user_can_stop_it(void **state)
{
	static const uid_t users[] = {USER, FEWER_RIGHTS_NOBODY, 1};
	const struct fewer_rights to = {.uid = USER, .gid = USER};
	int ends[2], status;
	bool may = false;
	pid_t pid;
	char ready;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		if (fewer_rights_take(&to) == 0)
			(void)!write(ends[1], "", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &ready, 1), 1);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		pid_t user = fork();

		if (user == 0)
			_exit(user_may_stop(users[i], pid));
		assert_int_equal(waitpid(user, &status, 0), user);
		may |= status != 0;
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ends[0]);
	close(ends[1]);
	assert_false(may);
}

static void make(const char *name, bool is_folder, uid_t owner)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (is_folder) {
		assert_int_equal(mkdir(path, 0700), 0);
		assert_int_equal(chown(path, owner, owner), 0);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static int set_up(void **state)
{
	if (geteuid() != 0) /* nothing to give up */
		exit(77);
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0);
	make("readable", true, 0);
	make("other", true, 0);
	make("own", true, USER);
	make("readable/secret", false, 0);
	make("other/secret", false, 0);
	return 0;
}

/* --- a daemon --- */

static bool writes_to_folders_of_others(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/own/new", folder);
	return may_write("own/new") && remove(path) == 0;
}

static bool makes_a_namespace_by_clone(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

/* struct clone_args of linux/sched.h: flags first, the signal at its end as the fifth of eight words */
static bool makes_a_namespace_by_clone3(void)
{
	uint64_t words[8] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
	long pid = syscall(435, words, sizeof(words));

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static bool gives_files_away(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/other/secret", folder);
	return chown(path, USER, USER) == 0;
}

static bool traces_another(void)
{
	return ptrace(PTRACE_SEIZE, getppid(), 0, 0) == 0;
}

/* A program of root's would have all that the bounding set has. */
static bool regains_by_a_program(void)
{
	char *words[] = {"/bin/sh", "-c", "chown 1 \"$0/other/secret\" 2>/dev/null", folder, NULL};
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execv(words[0], words);
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool regains_by_ids(void)
{
	return setresuid(USER, USER, 0) == 0 && setresuid(0, 0, 0) == 0 && gives_files_away();
}

static bool becomes_another(void)
{
	return setresuid(USER, USER, USER) == 0;
}

static int try_as_daemon(bool (*what)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fewer_rights_take_daemon(DAEMON_RECORDS) < 0 ? 2 : what() ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static bool daemon_can(bool (*what)(void))
{
	int status = try_as_daemon(what);

	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 2);
	return WEXITSTATUS(status) == 1;
}

static void a_daemon_keeps_what_it_works_with(void **state)
{
	bool (*const allowed[])(void) = {reads_what_is_named, forks, executes_in_a_child, becomes_another, talks_to_the_network};

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
		assert_true(daemon_can(allowed[i]));
}

static void a_daemon_loses_the_rest(void **state)
{
	bool (*const refused[])(void) = {writes_to_folders_of_others, mounts, enters_a_namespace, makes_a_namespace_by_clone,
					 makes_a_namespace_by_clone3, gives_files_away, traces_another, regains_by_a_program, regains_by_ids};

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_false(daemon_can(refused[i]));
}

#if defined(__x86_64__)
#define X32 0x40000000 /* the bit of its calls' numbers */

/* Whether the kernel gets to see it: one without x32 answers ENOSYS. */
static bool passes_by_numbers_of_x32(void)
{
	return syscall(X32 | SYS_getpid) > 0 || errno != EPERM;
}

static bool calls_as_32_bits(void)
{
	long r = 20; /* getpid there */

	signal(SIGSEGV, SIG_DFL); /* of a kernel that has no such calls */
	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	return r > 0;
}
#endif

static void other_numbers_of_calls_are_refused(void **state)
{
	(void)state;
#if defined(__x86_64__)
	if (geteuid() != 0)
		skip();
	assert_false(daemon_can(passes_by_numbers_of_x32));
	assert_true(WIFSIGNALED(try_as_daemon(calls_as_32_bits)));
#else
	skip();
#endif
}

static int tear_down(void **state)
{
	static const char *const names[] = {"readable/secret", "readable/new", "readable/newer", "readable/below", "other/secret", "own/new", "readable", "other", "own", ""};
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)remove(path);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_keeps_what_an_answer_needs),
		cmocka_unit_test(it_loses_the_rest),
		cmocka_unit_test(one_that_writes_does_that_alone),
		cmocka_unit_test(one_that_holds_does_that_alone),
		cmocka_unit_test(no_user_can_stop_it),
		cmocka_unit_test(without_paths_root_opens_nothing),
		cmocka_unit_test(a_daemon_keeps_what_it_works_with),
		cmocka_unit_test(a_daemon_loses_the_rest),
		cmocka_unit_test(other_numbers_of_calls_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
