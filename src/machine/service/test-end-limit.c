/* A process that cannot end does so in time, and says what it waited for. */
#include "machine/service/end-limit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/data/test.h"

static void *hang(void *unused)
{
	pthread_setname_np(pthread_self(), "stuck");
	pause();
	return unused;
}

static void what_is_left_is_named(void **state)
{
	int ends[2], status;
	pthread_t thread;
	char said[1024];
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		end_limit_begin(1);
		pthread_create(&thread, NULL, hang, NULL);
		pthread_join(thread, NULL);
		_exit(EXIT_SUCCESS);
	}
	close(ends[1]);
	while ((got = read(ends[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
	assert_non_null(strstr(said, "did not end within 1 s"));
	assert_non_null(strstr(said, "stuck in "));
}

RUN_TESTS(cmocka_unit_test(what_is_left_is_named))
