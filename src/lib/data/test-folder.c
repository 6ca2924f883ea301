#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/data/folder.h"

static char root[] = "/tmp/whyslow-folder-XXXXXX";

static int make_root(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	return rmdir(root);
}

static const char *within(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void the_folder_of_a_file_is_found(void **state)
{
	static const struct {
		const char *file, *folder;
	} cases[] = {{"/a/b/c", "/a/b"}, {"/a", "/"}, {"a/b", "a"}, {"a", "."}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *found = folder_of(cases[i].file);

		assert_string_equal(found, cases[i].folder);
	}
}

static void a_folder_of_ones_own_or_none_is_trusted(void **state)
{
	assert_int_equal(folder_check_owner(within("missing")), 0);
	assert_int_equal(folder_check_owner(root), 0);
}

static void what_others_may_write_is_not(void **state)
{
	assert_int_equal(mkdir(within("open"), 0700), 0);
	assert_int_equal(chmod(within("open"), 0777), 0);
	assert_int_equal(folder_check_owner(within("open")), -EPERM);
	assert_int_equal(chmod(within("open"), 01777), 0);
	assert_int_equal(folder_check_owner(within("open")), -EPERM);
	assert_int_equal(rmdir(within("open")), 0);
}

static void a_link_is_not(void **state)
{
	assert_int_equal(symlink(root, within("link")), 0);
	assert_int_equal(folder_check_owner(within("link")), -EPERM);
	assert_int_equal(unlink(within("link")), 0);
}

static void another_users_is_not(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(within("theirs"), 0700), 0);
	assert_int_equal(chown(within("theirs"), 65534, 65534), 0);
	assert_int_equal(folder_check_owner(within("theirs")), -EPERM);
	assert_int_equal(rmdir(within("theirs")), 0);
}

/* Hidden names belong to them; the folder itself, its parent and what lies behind a link do not. */
static void each_name_in_a_folder_is_walked(void **state)
{
	unsigned hidden = 0, folders = 0, all = 0;

	assert_int_equal(mkdir(within("walked"), 0700), 0);
	assert_int_equal(mkdir(within("walked/.a"), 0700), 0);
	assert_int_equal(symlink(root, within("walked/b")), 0);
	FOLDER_EACH(x, opendir(within("walked"))) {
		all++;
		hidden += strcmp(x.name, ".a") == 0;
		folders += x.type == DT_DIR;
	}
	assert_true(all == 2 && hidden == 1 && folders == 1);
	FOLDER_EACH(x, opendir(within("walked/none")))
		fail();
	assert_null(folder_open_at(AT_FDCWD, within("walked/b")));
	assert_int_equal(unlink(within("walked/b")), 0);
	assert_int_equal(rmdir(within("walked/.a")), 0);
	assert_int_equal(rmdir(within("walked")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_folder_of_a_file_is_found),
		cmocka_unit_test(a_folder_of_ones_own_or_none_is_trusted),
		cmocka_unit_test(what_others_may_write_is_not),
		cmocka_unit_test(a_link_is_not),
		cmocka_unit_test(another_users_is_not),
		cmocka_unit_test(each_name_in_a_folder_is_walked),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
