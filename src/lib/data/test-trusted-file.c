#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/trusted-file.h"

#define USER 12345

static char folder[] = "/tmp/whyslow-trusted-XXXXXX"; /* with a folder `in`, and a file in it */

static const char *within(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int read_it(void)
{
	_cleanup_free_ char *text = NULL, *error = NULL;
	int r = trusted_file_read(within("in/file"), &text, &error);

	assert_true(r < 0 || strcmp(text, "what to do\n") == 0);
	assert_true(r != -EPERM || strstr(error, folder));
	return r;
}

static void set(const char *name, uid_t uid, gid_t gid, mode_t mode)
{
	assert_int_equal(chown(within(name), uid, gid), 0);
	assert_int_equal(chmod(within(name), mode), 0);
}

static void root_obeys_what_root_alone_may_write(void **state)
{
	static const struct {
		const char *name;
		uid_t uid;
		gid_t gid;
		mode_t mode;
		int expected;
	} cases[] = {
		{"in/file", 0, 0, 0644, 0},
		{"in/file", 0, 0, 0664, 0}, /* root's own group */
		{"in/file", 0, USER, 0664, -EPERM},
		{"in/file", 0, 0, 0646, -EPERM},
		{"in/file", USER, 0, 0600, -EPERM},
		{"in", USER, 0, 0755, -EPERM},
		{"in", 0, USER, 0775, -EPERM},
		{"in", 0, 0, 0757, -EPERM},
		{"in", 0, 0, 01777, 0}, /* others cannot replace the file there */
		{"", USER, 0, 0755, -EPERM},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		set(cases[i].name, cases[i].uid, cases[i].gid, cases[i].mode);
		if (read_it() != cases[i].expected)
			fail_msg("case %zu: %d", i, read_it());
		set("in/file", 0, 0, 0644);
		set("in", 0, 0, 0755);
		set("", 0, 0, 0755);
	}
}

static void the_caller_of_sudo_is_root_already(void **state)
{
	set("in/file", USER, USER, 0644);
	assert_int_equal(read_it(), -EPERM);
	setenv("SUDO_UID", "12345", 1);
	assert_int_equal(read_it(), 0);
	setenv("SUDO_UID", "12346", 1);
	assert_int_equal(read_it(), -EPERM);
	unsetenv("SUDO_UID");
	set("in/file", 0, 0, 0644);
}

static void a_user_obeys_what_the_user_names(void **state)
{
	pid_t pid;
	int status;

	set("in/file", USER, USER, 0666);
	pid = fork();
	if (pid == 0)
		_exit(setresuid(USER, USER, USER) < 0 || read_it() != 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	set("in/file", 0, 0, 0644);
}

static void a_device_and_a_pipe_are_read(void **state)
{
	_cleanup_free_ char *nothing = NULL, *piped = NULL, *error = NULL;
	char path[64];
	int ends[2];

	assert_int_equal(trusted_file_read("/dev/null", &nothing, &error), 0);
	assert_string_equal(nothing, "");
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "a\n", 2), 2);
	close(ends[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	assert_int_equal(trusted_file_read(path, &piped, &error), 0);
	assert_string_equal(piped, "a\n");
	close(ends[0]);
}

static int count(const char *text, const char *path, void *to, char **ret_error)
{
	(void)text, (void)path, (void)ret_error;
	++*(unsigned *)to;
	return 0;
}

static void hidden_files_and_copies_are_no_files_of_a_folder(void **state)
{
	static const char *const names[] = {"in/.hidden", "in/file~"};
	_cleanup_free_ char *error = NULL;
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(close(open(within(names[i]), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_int_equal(trusted_files_read(within("in"), count, &n, &error), 0);
	assert_int_equal(n, 1);
	assert_int_equal(trusted_files_read(within("in/file"), count, &n, &error), 0);
	assert_int_equal(n, 2);
	assert_int_equal(trusted_files_read(within("nowhere"), count, &n, &error), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(unlink(within(names[i])), 0);
}

static int set_up(void **state)
{
	static const char text[] = "what to do\n";
	int fd;

	if (geteuid() != 0) /* users name files of their own */
		exit(77);
	unsetenv("SUDO_UID");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(mkdir(within("in"), 0755), 0);
	fd = open(within("in/file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	return close(fd);
}

static int tear_down(void **state)
{
	(void)unlink(within("in/file"));
	(void)rmdir(within("in"));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_obeys_what_root_alone_may_write), cmocka_unit_test(the_caller_of_sudo_is_root_already),
		cmocka_unit_test(a_user_obeys_what_the_user_names),	cmocka_unit_test(a_device_and_a_pipe_are_read),
		cmocka_unit_test(hidden_files_and_copies_are_no_files_of_a_folder),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
