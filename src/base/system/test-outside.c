#include "base/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/outside.h"

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

	(void)state;
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

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_root(names[i]));
	rmdir(in_root("folder"));
	return rmdir(root);
}

static void links_stay_below_the_root(void **state)
{
	int fd = outside_open_below(root, "/link");
	char c = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(read(fd, &c, 1), 1);
	assert_int_equal(c, 'x');
	close(fd);
	assert_int_equal(outside_open_below(root, "/up"), -ENOENT);
	assert_int_equal(outside_open_below(root, "/zero"), -ENOENT);
	assert_int_equal(outside_open_below(root, "../../etc/passwd"), -ENOENT);
	assert_int_equal(outside_open_folder_below(root, "file"), -ENOTDIR);
}

static void in_a_folder_no_link_is_followed(void **state)
{
	int folder = outside_open_folder_below(root, "/"), fd;

	(void)state;
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
	(void)state;
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

	(void)state;
	assert_true(fd >= 0);
	signal(SIGIO, SIG_IGN);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	alarm(20);
	assert_int_equal(outside_open_below(root, "/file"), -EAGAIN);
	alarm(0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(links_stay_below_the_root), cmocka_unit_test(in_a_folder_no_link_is_followed),
					   cmocka_unit_test(only_regular_files_are_opened),
					   cmocka_unit_test(another_s_lease_is_not_waited_for)};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
