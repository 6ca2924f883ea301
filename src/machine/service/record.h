/* The recording daemon: samples for ever, keeps the journal, saves it to the store, answers its socket. */
#pragma once

#include "lib/data/config.h"
#include "machine/service/service.h"

/* In the run directory, while a recorder runs: the source of processes, and in a second line why it is not the cheapest one, if it is not. */
#define PROCESS_SOURCE_FILE "process-source"

struct record_options {
	const struct config *config;
	const char *config_file; /* read again on SIGHUP; NULL = the system's, if there is one */
	bool force_proc;
	bool processes_only;
	/* Answers a question in a process of its own, on standard output and error; data is this struct. The exit status. */
	int (*answer)(const struct service_question *q, const void *data);
};

/* Runs until SIGTERM or SIGINT. 0, or -errno after having said why on the log. */
int record_run(const struct record_options *options);
