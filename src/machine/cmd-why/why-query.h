/* A question about a moment, as the verbs ask it: about a mark it is asked with all that is known of it, by whichever verb. */
#pragma once

#include <sys/types.h>

#include "lib/data/cleanup.h"
#include "machine/answer-why/why.h"
#include "machine/rule/cause.h"
#include "machine/verb/verb.h"

struct why_query {
	bool waits;	   /* for all events, however long that takes */
	struct why_request request;
	struct causes causes;
	struct facts facts;
	struct trace trace;
	int64_t mark;	    /* that is asked about; 0 = none */
	int64_t press;	    /* the mark whose moment and events are meant by a time that is given; 0 = none */
	pid_t first_look;   /* the process that shows one until the answer is there; 0 = none */
};

/* From TIME or a mark's number: request.at, request.marked, mark. 0, -EINVAL: neither, -ENOENT: no such mark, -ERANGE: the
 * future, -EIO: no store, said. */
int why_query_parse(struct common *common, const char *text, struct why_query *a);
/* Start of the incident (NULL: not given), counted from the moment asked about: request.since. An exit status; if it is not 0, it was said why. */
int why_query_parse_since(const char *verb, const char *text, struct why_query *a);
/* The catalogue of causes, with those of /etc. EXIT_ANSWERED, or EXIT_CANNOT, said. */
int why_query_load_causes(struct why_query *a);
/* The events kept of the mark, or, about now (request.proc_root) or a moment that has only just passed, those the recorder has, as far as `common->viewer` may see them,
 * where there are any: request.trace. Without them the answer is made of counters. */
void why_query_find_events(const struct common *common, struct why_query *a);
/* The recorder's events about a moment that has passed, where they still reach back to it: all of them, however long that takes. Without
 * them the answer is made of counters. */
void why_query_find_past_events(const struct common *common, struct why_query *a);
/* The moment has only just passed, on this machine: its processes can be looked at. */
bool why_query_is_live(const struct common *common, const struct why_query *a);
/* The answer of all verbs: why_from_store(), with what is still to be seen of the moment in /proc. */
int why_query_answer(const struct common *common, struct store *store, struct why_query *a, struct why_data *data, struct answer *ret);
/* Says what is wrong with a TIME of --at. EXIT_USAGE, or EXIT_CANNOT for -EIO. */
int why_query_wrong_time(const char *verb, const char *text, int r);
void why_query_free(struct why_query *a);

#define _cleanup_why_query_ _cleanup_(why_query_free)
