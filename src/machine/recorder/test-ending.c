#include "lib/data/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/clock.h"
#include "machine/recorder/ending.h"

static void the_kernel_s_log_says_who_ran_out_of_memory(void **state)
{
	static const char alone[] = "3,1,2,-;Out of memory: Killed process 4215 (whyslow) total-vm:812340kB, anon-rss:800112kB",
			  group[] = "3,1,2,-;Memory cgroup out of memory: Killed process 4215 (whyslow) total-vm:812340kB";

	assert_string_equal(ending_of_message(alone, 4215), "it was killed: the machine was out of memory");
	assert_string_equal(ending_of_message(group, 4215), "it was killed: the memory limit of its unit or container was reached");
	assert_null(ending_of_message(alone, 421));
	assert_null(ending_of_message("6,1,2,-;whyslow is 4215", 4215));
}

static void a_status_becomes_words(void **state)
{
	char text[ENDING_TEXT];

	ending_of_status(SIGKILL, text, sizeof(text));
	assert_string_equal(text, "it was killed by signal 9 (Killed)");
	ending_of_status(SIGSEGV | 0x80, text, sizeof(text));
	assert_string_equal(text, "it crashed by signal 11 (Segmentation fault)");
	ending_of_status(3 << 8, text, sizeof(text));
	assert_string_equal(text, "it ended with status 3: its log has the reason");
}

static void what_is_noted_is_read_until_it_is_forgotten(void **state)
{
	char dir[] = "/tmp/whyslow-ending-XXXXXX", path[64];
	struct ending e = {};
	int64_t before = clock_wall();
	pid_t pid;
	int pidfd;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(ending_read(dir, &e), -ENOENT);
	ending_note_reason(dir, "it could not begin: No space left on device");
	assert_int_equal(ending_read(dir, &e), 0);
	assert_string_equal(e.reason, "it could not begin: No space left on device");
	assert_true(e.wall >= before && e.wall <= clock_wall());

	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	ending_note(dir, pid, pidfd);
	assert_int_equal(ending_read(dir, &e), 0);
	assert_non_null(strstr(e.reason, "it was killed"));
	close(pidfd);
	ending_forget(dir);
	assert_int_equal(ending_read(dir, &e), -ENOENT);

	snprintf(path, sizeof(path), "%s/ended", dir);
	assert_int_equal(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	assert_int_equal(ending_read(dir, &e), -EBADMSG);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

RUN_TESTS(cmocka_unit_test(the_kernel_s_log_says_who_ran_out_of_memory), cmocka_unit_test(a_status_becomes_words),
	  cmocka_unit_test(what_is_noted_is_read_until_it_is_forgotten))
