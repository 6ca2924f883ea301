/* Who holds a file lock: as the kernel tells it of real processes, and of what is not available at will. */
#include "base/data/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/file-lock.h"

static void the_process_that_holds_it(void **state)
{
	char file[] = "/tmp/whyslow-lock-XXXXXX";
	int fd = mkstemp(file);
	unsigned holder = 0;
	pid_t child;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	child = fork();
	if (child == 0) {
		int mine = open(file, O_RDWR | O_CLOEXEC);

		_exit(flock(mine, LOCK_EX) < 0);
	}
	for (int i = 0; i < 3000 && !holder; i++) {
		holder = file_lock_holder("/proc", (unsigned)child);
		usleep(1000);
	}
	assert_int_equal(holder, getpid());
	assert_int_equal(file_lock_holder("/proc", (unsigned)getpid()), 0);
	flock(fd, LOCK_UN);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(fd);
	unlink(file);
}

static void those_who_wait_stand_below_it(void **state)
{
	char root[] = "/tmp/whyslow-locks-XXXXXX", path[64];
	FILE *f;

	(void)state;
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
	assert_int_equal(file_lock_holder(root, 2293), 776);
	assert_int_equal(file_lock_holder(root, 2294), 776);
	assert_int_equal(file_lock_holder(root, 2295), 0);
	assert_int_equal(file_lock_holder(root, 4028), 0);
	assert_int_equal(file_lock_holder("/nowhere", 2293), 0);
	unlink(path);
	rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_process_that_holds_it),
		cmocka_unit_test(those_who_wait_stand_below_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
