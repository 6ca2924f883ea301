#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/rights/own-folder.h"

/* The folder that others may write, and what they would have us write to. */
struct fixture {
	char pool[64], victim[64];
	int fd;
};

static const char *in(const char *folder, const char *name)
{
	static char paths[4][400];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void put(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static bool holds(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char bytes[64] = "";

	return fd >= 0 && read(fd, bytes, sizeof(bytes) - 1) >= 0 && strcmp(bytes, text) == 0;
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static int begin(const char *folder, const char *name, struct own_file *ret)
{
	_cleanup_free_ char *error = NULL;

	return own_file_begin(folder, name, 0600, ret, &error);
}

static int set_up(void **state)
{
	static struct fixture f;

	snprintf(f.pool, sizeof(f.pool), "/tmp/whyslow-pool-XXXXXX");
	snprintf(f.victim, sizeof(f.victim), "/tmp/whyslow-victim-XXXXXX");
	if (!mkdtemp(f.pool) || !mkdtemp(f.victim))
		return -1;
	f.fd = open(f.pool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &f;
	return f.fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[200];

	close(f->fd);
	snprintf(command, sizeof(command), "rm -rf %s %s", f->pool, f->victim);
	return system(command);
}

static void what_is_published_is_private_and_leaves_nothing_else(void **state)
{
	struct fixture *f = *state;
	struct own_file file;
	struct stat st;

	assert_int_equal(begin(f->pool, "web.db", &file), 0);
	put(file.path, "new");
	assert_false(is_there(in(f->pool, "web.db")));
	assert_int_equal(own_file_publish(&file, "web.db", false), 0);
	own_file_end(&file);
	assert_true(holds(in(f->pool, "web.db"), "new"));
	assert_int_equal(stat(in(f->pool, "web.db"), &st), 0);
	assert_int_equal(st.st_mode & 077, 0);
	assert_int_equal(unlinkat(f->fd, "web.db", 0), 0);
	assert_int_equal(rmdir(f->pool), 0); /* it is empty */
	assert_int_equal(mkdir(f->pool, 0700), 0);
}

static void a_link_at_its_name_is_replaced_and_not_followed(void **state)
{
	struct fixture *f = *state;
	struct own_file file;

	put(in(f->victim, "file"), "theirs");
	assert_int_equal(symlink(in(f->victim, "file"), in(f->pool, "web.db")), 0);
	assert_int_equal(begin(f->pool, "web.db", &file), 0);
	put(file.path, "new");
	assert_int_equal(own_file_publish(&file, "web.db", false), -EEXIST);
	assert_int_equal(own_file_publish(&file, "web.db", true), 0);
	own_file_end(&file);
	assert_true(holds(in(f->victim, "file"), "theirs"));
	assert_true(holds(in(f->pool, "web.db"), "new"));
}

/* Who may write the outer folder may move the inner one, and put a link in its place. */
static void a_moved_folder_is_still_the_one_that_is_written(void **state)
{
	struct fixture *f = *state;
	struct own_file file;

	assert_int_equal(begin(f->pool, "web.db", &file), 0);
	assert_int_equal(rename(in(f->pool, file.folder_name), in(f->pool, "moved")), 0);
	assert_int_equal(symlink(f->victim, in(f->pool, file.folder_name)), 0);
	put(file.path, "new");
	assert_int_equal(own_file_publish(&file, "web.db", true), 0);
	own_file_end(&file);
	assert_true(holds(in(f->pool, "web.db"), "new"));
	assert_int_equal(rmdir(f->victim), 0); /* nothing was made there */
	assert_int_equal(mkdir(f->victim, 0700), 0);
}

static void what_a_killed_one_left_is_removed_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	struct own_file file;

	assert_int_equal(mkdir(in(f->pool, ".web.db.0123456789abcdef"), 0700), 0);
	put(in(f->pool, ".web.db.0123456789abcdef/copy.unfinished-wal"), "torn");
	assert_int_equal(mkdir(in(f->pool, ".web.db.fedcba9876543210"), 0700), 0); /* another folder, by that name */
	put(in(f->pool, ".web.db.fedcba9876543210/letter"), "dear");
	assert_int_equal(begin(f->pool, "web.db", &file), 0);
	own_file_end(&file);
	assert_false(is_there(in(f->pool, ".web.db.0123456789abcdef")));
	assert_true(holds(in(f->pool, ".web.db.fedcba9876543210/letter"), "dear"));
}

static void a_file_can_be_read_without_a_name(void **state)
{
	struct fixture *f = *state;
	struct own_file file;
	char bytes[8] = "";
	int fd;

	assert_int_equal(begin(f->pool, "copy", &file), 0);
	put(file.path, "all");
	fd = own_file_open(&file);
	own_file_end(&file);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 3);
	assert_string_equal(bytes, "all");
	close(fd);
	assert_int_equal(rmdir(f->pool), 0);
	assert_int_equal(mkdir(f->pool, 0700), 0);
}

static int open_kept(const struct fixture *f, char **ret_aside)
{
	int fd = own_folder_open(f->fd, "web.traces", ret_aside);

	assert_true(fd >= 0);
	return fd;
}

static void a_folder_of_ours_is_found_again(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *aside = NULL;

	close(open_kept(f, &aside));
	put(in(f->pool, "web.traces/1.trace"), "one");
	close(open_kept(f, &aside));
	assert_null(aside);
	assert_true(holds(in(f->pool, "web.traces/1.trace"), "one"));
}

/* Also one of ours, and also the one that was made for another name. */
static void another_folder_that_got_its_name_is_left_alone(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *aside = NULL, *second = NULL;
	char path[400];
	int fd;

	assert_int_equal(mkdir(in(f->pool, "web.traces"), 0700), 0);
	put(in(f->pool, "web.traces/letter"), "dear");
	close(open_kept(f, &aside));
	assert_non_null(aside);
	snprintf(path, sizeof(path), "%s/%s/letter", f->pool, aside);
	assert_true(holds(path, "dear"));
	assert_false(is_there(in(f->pool, "web.traces/letter")));

	fd = own_folder_open(f->fd, "other.traces", &second);
	assert_true(fd >= 0);
	close(fd);
	put(in(f->pool, "other.traces/7.trace"), "seven");
	assert_int_equal(rename(in(f->pool, "web.traces"), in(f->pool, "away")), 0);
	assert_int_equal(rename(in(f->pool, "other.traces"), in(f->pool, "web.traces")), 0);
	close(open_kept(f, &second));
	assert_non_null(second);
	snprintf(path, sizeof(path), "%s/%s/7.trace", f->pool, second);
	assert_true(holds(path, "seven"));
}

static void a_link_to_a_folder_is_no_folder(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *aside = NULL;

	put(in(f->victim, "letter"), "dear");
	assert_int_equal(symlink(f->victim, in(f->pool, "web.traces")), 0);
	close(open_kept(f, &aside));
	assert_non_null(aside);
	assert_true(holds(in(f->victim, "letter"), "dear"));
	assert_false(is_there(in(f->victim, ".whyslow-folder")));
}

static void a_folder_that_others_may_write_is_not_ours(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *aside = NULL;

	assert_int_equal(mkdir(in(f->pool, "web.traces"), 0777), 0);
	assert_int_equal(chmod(in(f->pool, "web.traces"), 0777), 0);
	put(in(f->pool, "web.traces/.whyslow-folder"), "web.traces");
	close(open_kept(f, &aside));
	assert_non_null(aside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_published_is_private_and_leaves_nothing_else, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_link_at_its_name_is_replaced_and_not_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_moved_folder_is_still_the_one_that_is_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_a_killed_one_left_is_removed_and_nothing_else, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_can_be_read_without_a_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_folder_of_ours_is_found_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_folder_that_got_its_name_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_link_to_a_folder_is_no_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_folder_that_others_may_write_is_not_ours, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
