/* A pseudoterminal whose program does not read, as /dev/pts and /proc show it; the machine's own files say nothing of it otherwise. */
#include "lib/data/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "machine/agent/hung-terminal.h"

struct typed {
	int master, reads; /* a byte written to `reads` lets the program read */
	pid_t pid;
	struct hung_terminals *h;
	unsigned found; /* times that `pid` was said to hang */
};

static void on_hung(uint32_t pid, const char *how, void *data)
{
	struct typed *t = data;

	assert_string_equal(how, HUNG_TERMINAL_HOW);
	t->found += pid == (uint32_t)t->pid;
}

static void be_program(const char *terminal, bool each_key, int ready, int reads)
{
	struct termios modes;
	char byte;
	int fd;

	setsid();
	fd = open(terminal, O_RDWR);
	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0 || tcgetattr(fd, &modes) < 0)
		_exit(1);
	if (each_key)
		modes.c_lflag &= ~(tcflag_t)ICANON;
	if (tcsetattr(fd, TCSANOW, &modes) < 0 || write(ready, "", 1) != 1)
		_exit(1);
	while (read(reads, &byte, 1) == 1) {
		char keys[100];

		if (read(fd, keys, sizeof(keys)) < 1 || write(ready, "", 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static int ready_pipe[2], reads_pipe[2];

static void wait_for_program(void)
{
	char byte;

	assert_int_equal(read(ready_pipe[0], &byte, 1), 1);
}

static void begin(struct typed *t, bool each_key)
{
	*t = (struct typed){.master = posix_openpt(O_RDWR | O_NOCTTY)};
	assert_true(t->master >= 0 && grantpt(t->master) == 0 && unlockpt(t->master) == 0);
	assert_int_equal(pipe(ready_pipe), 0);
	assert_int_equal(pipe(reads_pipe), 0);
	t->pid = fork();
	if (t->pid == 0) {
		const char *name = ptsname(t->master);

		close(reads_pipe[1]);
		be_program(name, each_key, ready_pipe[1], reads_pipe[0]);
	}
	assert_true(t->pid > 0);
	t->reads = reads_pipe[1];
	wait_for_program();
	t->h = hung_terminals_new("/proc", on_hung, t);
	assert_non_null(t->h);
}

static void end(struct typed *t)
{
	hung_terminals_free(t->h);
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(ready_pipe[i]);
		close(reads_pipe[i]);
	}
	close(t->master);
}

static void look(struct typed *t, int times)
{
	while (times--)
		hung_terminals_look(t->h);
}

/* The kernel hands keys on in its own time: they are there when their echo is. */
static void type(struct typed *t, const char *keys)
{
	char echo[100];

	assert_int_equal(write(t->master, keys, strlen(keys)), strlen(keys));
	for (size_t n = 0; n < strlen(keys);) {
		ssize_t more = read(t->master, echo, sizeof(echo));

		assert_true(more > 0);
		n += (size_t)more;
	}
}

static void keys_that_lie_unread_are_found_once_until_they_are_read(void **state)
{
	struct typed t;

	(void)state;
	begin(&t, true);
	look(&t, 10);
	assert_int_equal(t.found, 0);
	type(&t, "x");
	look(&t, 3);
	assert_int_equal(t.found, 0);
	look(&t, 10);
	assert_int_equal(t.found, 1);
	assert_int_equal(write(t.reads, "", 1), 1);
	wait_for_program();
	look(&t, 10);
	assert_int_equal(t.found, 1);
	type(&t, "y");
	look(&t, 4);
	assert_int_equal(t.found, 2);
	end(&t);
}

static void a_line_typed_ahead_of_a_busy_program_is_none(void **state)
{
	struct typed t;

	(void)state;
	begin(&t, false);
	type(&t, "make install\n");
	look(&t, 10);
	assert_int_equal(t.found, 0);
	end(&t);
}

static void the_other_end_of_a_terminal_still_reads_after_a_look(void **state)
{
	struct typed t;

	(void)state;
	begin(&t, true);
	look(&t, 1);
	type(&t, "x");
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_that_lie_unread_are_found_once_until_they_are_read),
		cmocka_unit_test(a_line_typed_ahead_of_a_busy_program_is_none),
		cmocka_unit_test(the_other_end_of_a_terminal_still_reads_after_a_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
