/* Answers for views: a verb of this program run apart, its output read as it comes.
 *
 * A view asks in the words of the command line and gets what `--json` prints. The one that may not read the recording asks the
 * daemon, which answers with that user's eyes (request.h); everybody else gets an answering process of their own. So a
 * view holds no recording, and what is slow to answer does not hold it up.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/data/str.h"
#include "machine/client/request.h"

struct asker {
	const char *store_file, *from_file, *run_dir, *config_file; /* as given on the command line; NULL = not */
	/* Which verbs the recorder answers for a user who may not read the recording; the others run here with the user's
	 * rights and ask for what they need themselves. NULL = the recording may be read. */
	bool (*by_recorder)(const char *verb);
};

/* A question under way. Zeroed = none. */
struct inquiry {
	int fd; /* its output, non-blocking; valid while `asked` */
	bool asked;
	pid_t child;	/* of this process; 0 = the daemon's */
	struct service_request request; /* to the recorder; its connection is -1 where there is none */
	int errors;	 /* what it wrote to standard error: a file in memory */
	struct str text; /* what was read and not yet taken */
};

/* Words: the verb and its own options and words, not --json. 0 or -errno. */
int ask_begin(const struct asker *a, size_t n, const char *const *words, struct inquiry *ret);
/* Reads what is there. 1 = more may come, 0 = that was all, -errno. */
int ask_read(struct inquiry *q);
/* The next line as JSON (the caller's reference), or NULL: no whole line yet. Lines that are not JSON are passed over. */
json_t *ask_take(struct inquiry *q);
/* Appends what it said on standard error so far, without "whyslow VERB: " in front. 0 or -errno. */
int ask_errors(const struct inquiry *q, struct str *ret);
/* Why a question could not be asked: an error of ask_begin(), ask_all(), in words that say what to do. */
const char *ask_failure(const struct asker *a, int error);
/* After ask_read() said r; where that is 1 it reads on. Waits for its end. The whole output and what was said on standard error, which the caller frees. The exit status; r, where it is an error. */
int ask_finish(struct inquiry *q, int r, struct str *text, struct str *errors);
/* Ends it, whether it is finished or not. Its exit status; -ECANCELED if it was not. */
int ask_end(struct inquiry *q);
/* Bounds of all of an answer. */
struct ask_bounds {
	int64_t time;	 /* ns */
	uint64_t memory; /* bytes of addresses, of a process of one's own */
	bool (*unwanted)(const void *state); /* who asked has gone; asked some times a second */
	const void *state;
};

/* Begins (with bounds it waits for its turn where its user has too many questions), reads to the end, and ends: the whole output and what was said on standard error, which the caller frees. The
 * exit status or -errno: -ETIMEDOUT, -ECANCELED (unwanted). `bounds` may be NULL. */
int ask_all_within(const struct asker *a, size_t n, const char *const *words, const struct ask_bounds *bounds, struct str *text, struct str *errors);
int ask_all(const struct asker *a, size_t n, const char *const *words, struct str *text, struct str *errors);

/* A process that answers, with these descriptors (in: -1 = nothing to read). 0 or -errno. */
int ask_start(const struct asker *a, size_t n, const char *const *words, int in, int out, int errors, pid_t *ret);
/* Appends what was written to such a descriptor for errors; as ask_errors(). */
int ask_said(int errors, struct str *ret);
