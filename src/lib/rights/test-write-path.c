#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/cleanup.h"
#include "lib/rights/write-path.h"

#define USER 65534

/* `folder` is root's; in it `theirs`, which is another user's, `open`, to which all may write, `sticky`, and root's `victim` with a `letter`. */
static char folder[] = "/tmp/whyslow-way-XXXXXX";

static const char *in(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void put(const char *name, const char *text)
{
	_cleanup_close_ int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static bool holds(const char *name, const char *text)
{
	_cleanup_close_ int fd = open(in(name), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char bytes[64] = "";

	return fd >= 0 && read(fd, bytes, sizeof(bytes) - 1) >= 0 && strcmp(bytes, text) == 0;
}

static void make(const char *name, uid_t uid, mode_t mode)
{
	assert_int_equal(mkdir(in(name), 0700), 0);
	assert_int_equal(chmod(in(name), mode), 0);
	assert_int_equal(chown(in(name), uid, uid), 0);
}

static void lead(const char *name, const char *to, uid_t uid)
{
	assert_int_equal(symlink(to, in(name)), 0);
	assert_int_equal(lchown(in(name), uid, uid), 0);
}

static int set_up(void **state)
{
	(void)state;
	memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
	if (!mkdtemp(folder) || chmod(folder, 0755) < 0)
		return -1;
	make("victim", 0, 0700);
	put("victim/letter", "dear");
	if (geteuid() != 0)
		return 0;
	make("theirs", USER, 0755);
	make("open", 0, 0777);
	make("sticky", 0, 01777);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command); /* NOLINT */
}

/* 0, or why `text` was not written there. */
static int write_text(const char *path, char how, const char *text, const char *named)
{
	_cleanup_free_ char *error = NULL;
	FILE *f = write_path_stream(path, how, &error);
	int r = f ? 0 : -errno;

	assert_true(f || (error && strstr(error, path)));
	assert_true(f || !named || strstr(error, named));
	if (f) {
		fputs(text, f);
		assert_int_equal(fclose(f), 0);
	}
	return r;
}

static int find(const char *path, bool make, const char *named)
{
	_cleanup_free_ char *error = NULL;
	int fd = write_path_folder(path, make, &error), r = fd < 0 ? fd : 0;

	assert_true(r != -EPERM || (error && strstr(error, named)));
	cleanup_fd(&fd);
	return r;
}

static int prepare(const char *path, const char *named)
{
	_cleanup_free_ char *error = NULL;
	int r = write_path_prepare(path, 0700, &error);

	assert_true(r == 0 || (error && strstr(error, named)));
	return r;
}

static void root_follows_no_link_of_others(void **state)
{
	static const char *const links[] = {"theirs/way", "open/way", "sticky/way"};

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		char file[64];

		lead(links[i], in("victim"), USER);
		snprintf(file, sizeof(file), "%s/letter", links[i]);
		assert_int_equal(find(in(links[i]), false, links[i]), -EPERM);
		assert_int_equal(find(in(file), true, links[i]), -EPERM);
		assert_int_equal(write_text(in(file), 'w', "gone", links[i]), -EPERM);
		snprintf(file, sizeof(file), "%s/new", links[i]);
		assert_int_equal(find(in(file), true, links[i]), -EPERM);
		assert_int_equal(write_text(in(file), 'x', "new", links[i]), -EPERM);
	}
	assert_int_equal(prepare(in("open/way/a/file"), "open/way"), -EPERM);
	lead("open/end", in("victim/letter"), USER);
	assert_int_equal(prepare(in("open/end"), "open/end"), -EPERM);
	assert_int_equal(write_text(in("open/end"), 'w', "gone", "open/end"), -EPERM);
	assert_int_equal(write_text(in("open/end"), 'a', "more", "open/end"), -EPERM);
	lead("trusted", "open/way", 0); /* a link of root's that leads through one of theirs */
	assert_int_equal(write_text(in("trusted/letter"), 'w', "gone", "open/way"), -EPERM);
	assert_true(holds("victim/letter", "dear"));
	assert_int_equal(unlink(in("victim/letter")), 0);
	assert_int_equal(rmdir(in("victim")), 0); /* nothing was made in it */
}

/* Also root's own links, where another user can move them. */
static void root_follows_what_others_cannot_have_put_there(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	lead("near", "victim", 0);
	lead("far", in("near"), 0);
	lead("sticky/ours", "../far", 0);
	lead("theirs/ours", "../far", 0);
	assert_int_equal(write_text(in("sticky/ours/./../victim/letter"), 'a', " one", NULL), 0);
	assert_true(holds("victim/letter", "dear one"));
	assert_int_equal(write_text(in("theirs/ours/letter"), 'w', "gone", "theirs/ours"), -EPERM);
	lead("end", "far/new", 0);
	assert_int_equal(write_text(in("end"), 'w', "new", NULL), 0);
	assert_true(holds("victim/new", "new"));
	lead("round", "round", 0);
	assert_int_equal(write_text(in("round/x"), 'w', "", NULL), -ELOOP);
}

static void folders_of_others_are_entered_and_missing_ones_made(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	make("theirs/pool", USER, 0755);
	assert_int_equal(write_text(in("theirs/pool/new"), 'x', "new", NULL), 0);
	assert_int_equal(write_text(in("theirs/pool/new"), 'x', "again", NULL), -EEXIST);
	assert_int_equal(write_text(in("theirs/pool/new"), 'w', "n", NULL), 0);
	assert_true(holds("theirs/pool/new", "n"));
	assert_int_equal(find(in("theirs/pool/a/b"), false, NULL), -ENOENT);
	assert_int_equal(find(in("theirs/pool/a/b"), true, NULL), 0);
	assert_int_equal(find(in("theirs/pool/a/b/"), false, NULL), 0);
	assert_int_equal(find(in("victim/letter"), false, NULL), -ENOTDIR);
	assert_int_equal(prepare(in("theirs/pool/c/d/file"), NULL), 0);
	assert_int_equal(find(in("theirs/pool/c/d"), false, NULL), 0);
	assert_int_equal(prepare(in("victim/letter/file"), NULL), 0); /* its opening says what is wrong */
}

static void what_lies_in_a_folder_of_others_is_a_file_of_one_name(void **state)
{
	int reader;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(link(in("victim/letter"), in("open/letter")), 0);
	assert_int_equal(write_text(in("open/letter"), 'w', "gone", "open/letter"), -EPERM);
	assert_true(holds("victim/letter", "dear"));
	assert_int_equal(mkfifo(in("open/pipe"), 0600), 0);
	assert_true(write_text(in("open/pipe"), 'w', "", NULL) < 0); /* and does not wait for a reader */
	reader = open(in("open/pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	assert_true(write_text(in("open/pipe"), 'w', "", NULL) < 0); /* nor writes to one */
	close(reader);
}

static void devices_and_what_is_open_are_written_to(void **state)
{
	char bytes[8] = "", path[64];
	int ends[2];

	(void)state;
	assert_int_equal(write_text("/dev/null", 'w', "text", NULL), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	assert_int_equal(write_text(path, 'w', "text", NULL), 0);
	assert_int_equal(read(ends[0], bytes, sizeof(bytes)), 4);
	close(ends[0]);
	close(ends[1]);
}

static void other_users_follow_what_there_is(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	make("open/pool", USER, 0755);
	lead("open/way", "pool", USER);
	assert_int_equal(seteuid(USER), 0);
	assert_int_equal(write_text(in("open/way/new"), 'x', "new", NULL), 0);
	assert_int_equal(find(in("open/way/a/b"), true, NULL), 0);
	assert_int_equal(seteuid(0), 0);
	assert_true(holds("open/pool/new", "new"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(root_follows_no_link_of_others),
		TEST(root_follows_what_others_cannot_have_put_there),
		TEST(folders_of_others_are_entered_and_missing_ones_made),
		TEST(what_lies_in_a_folder_of_others_is_a_file_of_one_name),
		TEST(devices_and_what_is_open_are_written_to),
		TEST(other_users_follow_what_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
