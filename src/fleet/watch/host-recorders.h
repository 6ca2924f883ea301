/* Questions to the recorders of other machines, by the names of their hosts: over `whyslow serve`, to a recording that was brought
 * here, or, for this machine's own name, to the recorder that runs here. */
#pragma once

#include "lib/net/host-answer.h"
#include "machine/client/ask.h"

struct host_recorders;

struct host_recorders_options {
	const char *location; /* a list as of fleet-watch.h, or a folder of recordings (HOST.db, HOST.whyslow); NULL = this machine alone */
	const char *token_file, *ca_file; /* of hosts whose line names none; or NULL */
	struct asker local;		  /* lent */
};

/* The strings are lent until the recorders are freed. 0, -EINVAL, -errno with *ret_error (caller frees). */
int host_recorders_open(const struct host_recorders_options *o, struct host_recorders **ret, char **ret_error);
void host_recorders_free(struct host_recorders *h);

struct host_question {
	const char *host;
	const char *program; /* a pid, unit or name; NULL = the machine */
	int64_t since, at;   /* wall ns; since 0 = as the answer finds it, at 0 = now */
};

/* 0 also where `error` says why there is no answer, or -ENOMEM. The caller frees with host_answer_free(). */
int host_recorders_ask(struct host_recorders *h, const struct host_question *q, struct host_answer *ret);
/* The same of the host of a line of a list. Any thread may ask. */
struct watch_host;
int host_recorders_ask_listed(const struct host_recorders_options *o, const struct watch_host *w, const struct host_question *q, struct host_answer *ret);
