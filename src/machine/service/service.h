/* The process that answers: forked by a process that the recorder forks before its threads begin, and again where it ends, it listens on RUN/socket (request.h) and forks a
 * process for each question, which has the program and the flight recorder in its memory already.
 *
 * The recorder itself takes part in no question: what an asker sends is read by the process that answers it, and the bounds of
 * each user are kept here. A question has a real-time budget of URGENT_BUDGET of CPU time, so that it is answered on a machine
 * that crawls, and goes on at the asker's own priority; who has used up the budget asks at the asker's own priority from the start.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct capture;
struct service;
struct tick_guard;

struct service_question {
	uint32_t uid, gid;	/* of the asker */
	bool colour;		/* the asker's output is a terminal that shows colors */
	struct capture *capture; /* the recorder's flight recorder, or NULL */
	int n_words;
	char **words; /* the verb and what follows */
};

struct service_options {
	const char *run_dir;
	struct capture *capture; /* NULL = none; not started yet */
	struct tick_guard *guard; /* it waits for that of the calling thread; NULL = none */
	int close_fd;	    /* of the recorder's, which the answering processes must not hold; -1 = none */
	bool realtime;	    /* use real-time priority */
	bool lock_memory;
	/* Answers on standard output and error, in a process of its own. The exit status. */
	int (*answer)(const struct service_question *q, const void *data);
	const void *data;
};

/* Forks: the caller has no other threads. 0 or -errno. */
int service_start(const struct service_options *options, struct service **ret);
/* From now on RUN/socket is there, for root: all that questions are about is there too. 0 or -errno. NULL is allowed. */
int service_open(struct service *s);
/* Starts the one that starts it again if that has ended. Cheap: for every tick. NULL is allowed. */
void service_tend(struct service *s);
void service_stop(struct service *s);
