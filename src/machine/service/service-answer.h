/* One question, in a process of its own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct service_options;

struct service_asker {
	int connection;
	int end; /* a byte that comes here ends the answer */
	uid_t uid;
	gid_t gid;
	pid_t pid;   /* when it connected */
	bool urgent; /* real-time priority for as long as the budget lasts */
};

/* Reads the question, answers it, and ends the process. */
void service_answer(const struct service_options *options, const struct service_asker *asker) __attribute__((noreturn));

/* Does a process that died by this signal have a fault? (A client that stops reading ends it too.) */
bool service_is_crash(int number);
