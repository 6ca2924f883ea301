/* Runs tests/symbol/stress for a test, and knows from nm where its functions are. */
#pragma once

#include "lib/data/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct stress {
	pid_t pid;
	int in; /* ends it */
};

/* Arguments after `program` as stress takes them, space separated. */
static inline struct stress stress_start(const char *program, const char *words)
{
	int in[2], out[2];
	char command[4096], line[16] = "";
	struct stress s;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	s.pid = fork();
	if (s.pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		snprintf(command, sizeof(command), "exec %s %s", program, words);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	s.in = in[1];
	for (size_t n = 0; n < 6; n++)
		if (read(out[0], line + n, 1) != 1)
			break;
	close(out[0]);
	assert_string_equal(line, "ready\n");
	return s;
}

static inline void stress_stop(struct stress *s)
{
	close(s->in);
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
}

/* What nm says: the truth. 0 = it knows no such function. */
static inline uint64_t nm_address(const char *program, const char *function)
{
	char command[4096];
	unsigned long long address = 0;
	FILE *f;

	snprintf(command, sizeof(command), "nm %s | awk '$3 == \"%s\" {print $1}'", program, function);
	f = popen(command, "r");
	assert_non_null(f);
	if (fscanf(f, "%llx", &address) != 1)
		address = 0;
	pclose(f);
	return address;
}
