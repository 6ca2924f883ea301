#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/rights/outside.h"

static char root[] = "/tmp/whyslow-outside-XXXXXX";

static const char *in_root(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static int make_root(void **state)
{
	int fd;

	if (!mkdtemp(root))
		return -1;
	fd = open(in_root("file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1)
		return -1;
	close(fd);
	return mkfifo(in_root("fifo"), 0600) | symlink("/file", in_root("link")) | symlink("/dev/zero", in_root("zero")) |
	       symlink("../../../../etc/passwd", in_root("up")) | mkdir(in_root("folder"), 0700);
}

static int remove_root(void **state)
{
	static const char *const names[] = {"file", "fifo", "link", "zero", "up"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_root(names[i]));
	rmdir(in_root("folder"));
	return rmdir(root);
}

static void links_stay_below_the_root(void **state)
{
	int fd = outside_open_below(root, "/link");
	char c = 0;

	assert_true(fd >= 0);
	assert_int_equal(read(fd, &c, 1), 1);
	assert_int_equal(c, 'x');
	close(fd);
	assert_int_equal(outside_open_below(root, "/up"), -ENOENT);
	assert_int_equal(outside_open_below(root, "/zero"), -ENOENT);
	assert_int_equal(outside_open_below(root, "../../etc/passwd"), -ENOENT);
	assert_int_equal(outside_open_folder_below(root, "file"), -ENOTDIR);
}

/* Memory has no disk: it is known by its mount. */
static void a_file_in_memory_is_opened(void **state)
{
	char path[64] = "/dev/shm/whyslow-outside-XXXXXX";
	int made = mkstemp(path), fd;

	if (made < 0)
		skip();
	fd = outside_open_regular(path);
	assert_true(fd >= 0);
	close(fd);
	fd = outside_open_below("", path);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	close(made);
}

static void in_a_folder_no_link_is_followed(void **state)
{
	int folder = outside_open_folder_below(root, "/"), fd;

	fd = outside_open_in_folder(folder, "file");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(outside_open_in_folder(folder, "link"), -ELOOP);
	assert_int_equal(outside_open_in_folder(folder, "zero"), -ELOOP);
	assert_int_equal(outside_open_in_folder(folder, "fifo"), -EINVAL);
	assert_int_equal(outside_open_in_folder(folder, "../passwd"), -EXDEV);
	close(folder);
}

/* The alarm ends a test that hangs. */
static void only_regular_files_are_opened(void **state)
{
	alarm(20);
	assert_int_equal(outside_open_below(root, "/fifo"), -EINVAL);
	assert_int_equal(outside_open_below(root, "/folder"), -EINVAL);
	assert_int_equal(outside_open_regular(in_root("fifo")), -EINVAL);
	assert_int_equal(outside_open_regular(in_root("zero")), -EINVAL);
	assert_int_equal(outside_open_below("", "/dev/null"), -EINVAL);
	assert_int_equal(outside_open_below("", "/proc/self/root/dev/null"), -ELOOP);
	alarm(0);
}

/* A reader that may not read it without waiting does not. */
static void another_s_lease_is_not_waited_for(void **state)
{
	int fd = open(in_root("file"), O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	signal(SIGIO, SIG_IGN);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	alarm(20);
	assert_int_equal(outside_open_below(root, "/file"), -EAGAIN);
	alarm(0);
	close(fd);
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(1);
	close(fd);
}

/* A process whose user mounts what that user likes: memory over "folder", with a file in it. */
static void __attribute__((noreturn)) mount_own(int ready)
{
	char users[48], groups[48];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(users, sizeof(users), "0 %u 1", getuid());
	snprintf(groups, sizeof(groups), "0 %u 1", getgid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		_exit(1);
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/uid_map", users);
	write_text("/proc/self/gid_map", groups);
	if (mount("own", in_root("folder"), "tmpfs", 0, NULL) < 0 || mknod(in_root("folder/file"), S_IFREG | 0600, 0) < 0)
		_exit(1);
	(void)!write(ready, "r", 1);
	for (;;)
		pause();
}

static void what_a_user_mounts_is_not_entered(void **state)
{
	char process_root[64], path[300], c;
	int ends[2], fd;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		mount_own(ends[1]);
	close(ends[1]);
	if (read(ends[0], &c, 1) != 1) { /* no user namespaces here */
		waitpid(pid, NULL, 0);
		skip();
	}
	close(ends[0]);
	assert_true(outside_has_own_mounts("/proc", (uint32_t)pid));
	assert_false(outside_has_own_mounts("/proc", (uint32_t)getpid()));
	snprintf(process_root, sizeof(process_root), "/proc/%d/root", pid);
	snprintf(path, sizeof(path), "%s/folder/file", root);
	assert_int_equal(outside_open_below(process_root, path), -EXDEV);
	snprintf(path, sizeof(path), "%s/folder", root);
	assert_int_equal(outside_open_folder_below(process_root, path), -EXDEV);
	fd = outside_open_below(process_root, "/etc/passwd"); /* where / is one mount */
	assert_true(fd >= 0 || fd == -EXDEV);
	if (fd >= 0)
		close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_state_is_read_without_the_file_system(void **state)
{
	struct stat by_kernel, by_us;

	assert_int_equal(stat(in_root("file"), &by_kernel), 0);
	assert_int_equal(outside_stat(AT_FDCWD, in_root("file"), 0, &by_us), 0);
	assert_true(by_us.st_dev == by_kernel.st_dev && by_us.st_ino == by_kernel.st_ino && by_us.st_mode == by_kernel.st_mode &&
		    by_us.st_uid == by_kernel.st_uid && by_us.st_size == by_kernel.st_size && by_us.st_nlink == by_kernel.st_nlink &&
		    by_us.st_mtim.tv_sec == by_kernel.st_mtim.tv_sec);
	assert_int_equal(outside_stat(AT_FDCWD, in_root("link"), AT_SYMLINK_NOFOLLOW, &by_us), 0);
	assert_true(S_ISLNK(by_us.st_mode));
	assert_int_equal(outside_stat(AT_FDCWD, in_root("nothing"), 0, &by_us), -ENOENT);
}

/* It is looked at once: who may write to the folder exchanges what lies there between the look and the opening. */
static void what_was_found_is_what_is_opened(void **state)
{
	_cleanup_close_ int found = -1, fd = -1;
	char byte, secret[] = "/tmp/test-outside-secret-XXXXXX";
	struct stat st;
	int other = mkstemp(secret);

	assert_int_equal(write(other, "7", 1), 1);
	close(other);
	other = open(in_root("exchanged"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(other, "1", 1), 1);
	close(other);
	found = outside_find_below(root, "/exchanged", &st);
	assert_true(found >= 0 && S_ISREG(st.st_mode));
	assert_int_equal(unlink(in_root("exchanged")) + symlink(secret, in_root("exchanged")), 0);
	fd = outside_open_found(found, root);
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_int_equal(byte, '1');
	close(TAKE_FD(found));
	found = outside_find_below(root, "/exchanged", &st);
	assert_true(found >= 0 && S_ISLNK(st.st_mode));
	assert_int_equal(outside_open_found(found, root), -EINVAL);
	unlink(in_root("exchanged"));
	unlink(secret);
	assert_true(outside_may_read_mapped(makedev(8, 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(links_stay_below_the_root), cmocka_unit_test(in_a_folder_no_link_is_followed),
					   cmocka_unit_test(only_regular_files_are_opened), cmocka_unit_test(what_was_found_is_what_is_opened),
					   cmocka_unit_test(another_s_lease_is_not_waited_for),
					   cmocka_unit_test(a_file_in_memory_is_opened),
					   cmocka_unit_test(what_a_user_mounts_is_not_entered),
					   cmocka_unit_test(a_state_is_read_without_the_file_system)};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
