/* How a program asks the recorder: one message over RUN/socket, answered by a process of its own (service.h).
 *
 * The client sends its words (NUL-separated; first the settings, NAME=VALUE, then the verb and what follows). It gets two pipes to
 * read the answer's output and errors from, and at the end one byte: the exit status, or REQUEST_BUSY. The recorder never
 * takes a descriptor. Who asks is the kernel's word (SO_PEERCRED).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define REQUEST_MAX    4096 /* bytes of words: options and a note */
#define REQUEST_WORDS  64   /* ... */
#define REQUEST_BUSY   250  /* not an exit status of a verb: too many questions are being answered */
#define STATUS_CANNOT  3     /* the exit status of a verb that has no answer */

#define BUDGET_QUESTION 1000000000LL /* ns of real-time CPU for one question: one with events takes up to 0.5 s next to a storm */
#define ANSWER_TIMEOUT	60		       /* s for an answer to be computed and read */
#define ANSWER_MEMORY	(2ull << 30) /* bytes of addresses: the program and the flight recorder's maps take 200 MB of them */

/* A question under way. */
struct service_request {
	int connection; /* the answer's end: readable when the status is there */
	int output, errors; /* to read from */
};

/* Verbs that also root asks the recorder: it answers on a machine that crawls. Done within a minute. */
bool request_is_urgent(const char *verb);

/* Sends the words and waits until the answer begins. 0, or -errno: -ENOENT / -ECONNREFUSED when no recorder listens, -E2BIG
 * for more than REQUEST_MAX, -EBUSY. On success the caller ends it with request_end(). */
int request_begin(const char *run_dir, int n_words, char *const *words, struct service_request *ret);
/* Copies what the answer says to these descriptors, to its end. 0 or -errno. */
int request_copy(const struct service_request *q, int output, int errors);
/* Waits for the answer's end and closes everything. The exit status, or -ECONNRESET: the process that answered has died. */
int request_end(struct service_request *q);
/* All of it: asks, and copies the answer to a descriptor and standard error. The exit status; says why where there is no answer that the program
 * could give in its place. -errno otherwise: -ENOENT or -ECONNREFUSED when no recorder listens, -E2BIG; of root, who can read the
 * recording, any other. */
int request_send(const char *run_dir, int n_words, char *const *words, int output);
/* Closes everything without waiting: the answer ends by itself. */
void request_drop(struct service_request *q);
