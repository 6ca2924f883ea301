/* Shared by tests of both flight recorders: a life that is known. */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A child that sleeps twice for 20 ms and ends with status 3. Its number. */
static inline uint32_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < 2; i++)
			nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
		_exit(3);
	}
	waitpid(pid, NULL, 0);
	return (uint32_t)pid;
}
