/* Which mount a call is about, in a recorded /proc. */
#include "lib/data/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/data/cleanup.h"
#include "machine/answer-live/fuse-mount.h"
#include "machine/answer-live/process-memory.h"

static char root[] = "/tmp/whyslow-fuse-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void make_folder(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int make_tree(void **state)
{
	static const char *const folders[] = {"7", "7/fdinfo", "8", "8/fdinfo", "9", "9/fdinfo", "9/task", "9/task/9"};

	if (!mkdtemp(root))
		return -1;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		make_folder(folders[i]);
	put("7/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
			   "52 27 0:41 / /home/me/album rw,nosuid,nodev,relatime - fuse.sshfs host:/pictures rw,user_id=0\n"
			   "53 27 0:42 / /home/me/album/old rw,relatime shared:3 - fuse old rw,user_id=0\n");
	put("7/fdinfo/5", "pos:\t0\nflags:\t02100002\nmnt_id:\t53\nino:\t90\n");
	put("7/fdinfo/6", "pos:\t0\nflags:\t02100002\nmnt_id:\t27\nino:\t90\n");
	put("8/fdinfo/3", "pos:\t0\nflags:\t02100002\nmnt_id:\t24\nino:\t90\nfuse_connection:\t41\n");
	put("9/fdinfo/3", "pos:\t0\nflags:\t02100002\nmnt_id:\t24\nino:\t90\n");
	put("9/task/9/stat", "9 (sshfs) S 1 9 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n");
	return 0;
}

static int remove_tree(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void of_an_open_file(void **state)
{
	struct live_thread reads = {.pid = 7, .tid = 7, .call = "read", .arguments = {5}}, other = {.pid = 7, .tid = 7, .call = "read", .arguments = {6}};
	struct fuse_mount m;

	assert_true(fuse_mount_find(root, &reads, &m));
	assert_int_equal(m.connection, 42);
	assert_string_equal(m.place, "/home/me/album/old");
	assert_string_equal(m.type, "");
	assert_false(fuse_mount_find(root, &other, &m));
}

/* Memory is read to the end of its page. */
static void of_a_path(void **state)
{
	_cleanup_(process_memory_free) struct process_memory memory = {};
	struct live_thread opens = {.pid = 7, .tid = 7, .memory = &memory, .call = "openat", .arguments = {(unsigned)AT_FDCWD, 0}};
	char path[256], page[4096] = "/home/me/album/sunset";
	struct fuse_mount m;
	FILE *f;

	snprintf(path, sizeof(path), "%s/7/mem", root);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(page, sizeof(page), 1, f), 1);
	fclose(f);
	put("7/maps", "00000000-00001000 rw-p 00000000 00:00 0 [heap]\n");
	assert_true(fuse_mount_find(root, &opens, &m));
	assert_int_equal(m.connection, 41);
	assert_string_equal(m.type, "sshfs");
}

/* Who touches memory is in no call. */
static void of_a_mapped_file(void **state)
{
	struct live_thread faults = {.pid = 7, .tid = 7};
	struct fuse_mount m;

	assert_false(fuse_mount_find(root, &faults, &m));
	put("7/maps", "55d0-55d1 r-xp 00000000 fe:00 77 /usr/bin/viewer\n"
		      "7f00-7f01 r--s 00000000 00:2a 90 /home/me/album/old/tree\n"
		      "7f01-7f02 r--s 00001000 00:2a 90 /home/me/album/old/tree\n");
	assert_true(fuse_mount_find(root, &faults, &m));
	assert_int_equal(m.connection, 42);
	put("7/maps", "7f00-7f01 r--s 00000000 00:2a 90 /home/me/album/old/tree\n7f02-7f03 r--s 00000000 00:29 91 /home/me/album/sea\n");
	assert_false(fuse_mount_find(root, &faults, &m));
}

/* By the number of the connection where the kernel says it, else by the name of its type. */
static void who_serves_it(void **state)
{
	struct fuse_mount sshfs = {.connection = 41, .type = "sshfs"}, other = {.connection = 42, .type = "portal"};

	assert_true(fuse_mount_is_served_by(root, &sshfs, 8));
	assert_false(fuse_mount_is_served_by(root, &other, 8));
	assert_true(fuse_mount_is_served_by(root, &sshfs, 9));
	assert_false(fuse_mount_is_served_by(root, &other, 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_an_open_file), cmocka_unit_test(of_a_path), cmocka_unit_test(of_a_mapped_file), cmocka_unit_test(who_serves_it)};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
