/* Who holds a file lock: as the kernel tells it of real processes, and of what is not available at will. */
#include "lib/data/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/system/file-lock.h"

static unsigned holder_of(const char *proc_root, unsigned pid)
{
	struct file_locks locks = {.proc_root = proc_root, .patience = FILE_LOCKS_PATIENCE};
	unsigned holder = file_locks_holder(&locks, pid);

	file_locks_free(&locks);
	return holder;
}

static void the_process_that_holds_it(void **state)
{
	char file[] = "/tmp/whyslow-lock-XXXXXX";
	int fd = mkstemp(file);
	unsigned holder = 0;
	pid_t child;

	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	child = fork();
	if (child == 0) {
		int mine = open(file, O_RDWR | O_CLOEXEC);

		_exit(flock(mine, LOCK_EX) < 0);
	}
	for (int i = 0; i < 3000 && !holder; i++) {
		holder = holder_of("/proc", (unsigned)child);
		usleep(1000);
	}
	assert_int_equal(holder, getpid());
	assert_int_equal(holder_of("/proc", (unsigned)getpid()), 0);
	flock(fd, LOCK_UN);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(fd);
	unlink(file);
}

static void those_who_wait_stand_below_it(void **state)
{
	char root[] = "/tmp/whyslow-locks-XXXXXX", path[64];
	FILE *f;

	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/locks", root);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("1: FLOCK  ADVISORY  WRITE 776 fe:00:10952801 0 EOF\n"
	      "1: -> FLOCK  ADVISORY  WRITE 2293 fe:00:10952801 0 EOF\n"
	      "1:  -> FLOCK  ADVISORY  WRITE 2294 fe:00:10952801 0 EOF\n"
	      "2: POSIX  ADVISORY  READ 4028 fe:00:15114250 128 128\n"
	      "3: OFDLCK ADVISORY  WRITE -1 fe:00:15114250 0 EOF\n"
	      "3: -> POSIX  ADVISORY  WRITE 2295 fe:00:15114250 0 EOF\n"
	      "garbage\n",
	      f);
	fclose(f);
	assert_int_equal(holder_of(root, 2293), 776);
	assert_int_equal(holder_of(root, 2294), 776);
	assert_int_equal(holder_of(root, 2295), 0);
	assert_int_equal(holder_of(root, 4028), 0);
	assert_int_equal(holder_of("/nowhere", 2293), 0);
	unlink(path);
	rmdir(root);
}

static void write_list(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Each reading takes a grace period of the kernel. */
static void the_list_is_read_once(void **state)
{
	char root[] = "/tmp/whyslow-locks-XXXXXX", path[64];
	struct file_locks locks = {.proc_root = root, .patience = FILE_LOCKS_PATIENCE};

	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/locks", root);
	write_list(path, "1: FLOCK  ADVISORY  WRITE 7 fe:00:1 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 8 fe:00:1 0 EOF\n");
	assert_int_equal(file_locks_holder(&locks, 8), 7);
	write_list(path, "1: FLOCK  ADVISORY  WRITE 7 fe:00:1 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 9 fe:00:1 0 EOF\n");
	assert_int_equal(file_locks_holder(&locks, 8), 7);
	assert_int_equal(file_locks_holder(&locks, 9), 0);
	file_locks_free(&locks);
	unlink(path);
	rmdir(root);
}

/* As where real-time programs starve the kernel's threads: without a bound this test would not end. */
static void a_list_that_does_not_come_is_not_waited_for(void **state)
{
	char root[] = "/tmp/whyslow-locks-XXXXXX", path[64];
	struct file_locks locks = {.proc_root = root, .patience = 20};
	int end;

	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/locks", root);
	assert_int_equal(mkfifo(path, 0600), 0);
	end = open(path, O_RDWR | O_CLOEXEC); /* it can be opened, and nothing comes */
	assert_int_equal(file_locks_holder(&locks, 8), 0);
	assert_int_equal(file_locks_holder(&locks, 8), 0);
	file_locks_free(&locks);
	fflush(NULL); /* as an answer ends */
	close(end);   /* the thread that was left behind ends */
	unlink(path);
	rmdir(root);
}

RUN_TESTS(cmocka_unit_test(the_process_that_holds_it), cmocka_unit_test(those_who_wait_stand_below_it), cmocka_unit_test(the_list_is_read_once),
	  cmocka_unit_test(a_list_that_does_not_come_is_not_waited_for))
