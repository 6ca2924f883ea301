/* From a recording to an answer: when did it begin, what was short, who did it. */
#pragma once

#include "machine/events/trace.h"
#include "machine/findings/facts.h"
#include "machine/findings/finding.h"
#include "machine/judge/method.h"
#include "machine/model/dataset.h"
#include "machine/recording/store.h"
#include "machine/rule/cause.h"

#define WHY_EXACT_MAX (12 * 3600 * NS_PER_SEC) /* ns of a recording that are read tick by tick at most */

/* The past that a moment is compared with: the meaning of "normally". */
enum baseline {
	BASELINE_WINDOW,    /* the time before it */
	BASELINE_SAME_HOUR, /* the same hour of the days before */
	BASELINE_UPGRADE,   /* the time since software changed */
};

struct why_request {
	int64_t at;		     /* wall ns */
	bool now;		     /* that is the present: the newest that is recorded stands for it */
	int64_t since;		     /* wall ns: the trouble is known to have begun here; 0 = find out */
	int64_t window;		     /* ns of past to learn from */
	enum baseline baseline;
	const char *package;	     /* of an upgrade: only of this one, or those whose names begin with it and '-'; NULL = of any */
	const char *elsewhere;	     /* what programs do on other machines is normal, too: their recordings (past_read_elsewhere()); NULL = none */
	bool recorded;		     /* ... of recorded time: where the machine was off, the window reaches back further */
	bool has_gaps;		     /* ... of which much was not recorded: all of it is read tick by tick */
	const struct method *method; /* NULL = the default */
	bool block;		     /* learn from the whole block around `at`, event included (the paper's way) */
	bool marked;		     /* somebody said that it was slow then: less is needed to accuse */
	struct viewer viewer;	     /* for whom: what this user must not see is taken out of the dataset */
	const char *proc_root;	     /* of an answer about now: where processes are looked at; NULL = they may be gone */
	const char *live_root;	     /* /proc, where the moment has only just passed: for whom programs wait is looked up there; NULL = no more */
	const char *only;	     /* pid, unit or name: suspects and victims other than this are left out; NULL = all */
	const struct mark *marks;    /* incidents that must not be learnt as normal; NULL = those of the store */
	size_t n_marks;
	const struct trace *trace;   /* events of the trouble; NULL = none are kept */
	int64_t events_until;	     /* monotonic ns: later they are left out, and the answer says so; 0 = they are worth any time, or there are none */
	bool patient;		     /* what the kernel is slow to say of locks is worth waiting for */
	const struct causes *causes; /* the catalogue; NULL = what is built in */
	struct facts *ret_facts;     /* what the causes were tried on; the caller frees. NULL = not wanted */
};

/* The findings of an answer point into it: keep it as long as the answer. */
struct why_data {
	struct dataset first; /* everybody, as far as the method needs */
	struct dataset more;  /* all features of those it suspects */
	unsigned damaged;     /* parts of the recording that could not be read */
	struct mark *marks;   /* which the request did not name */
	size_t n_marks;
	char *upgrade; /* the change of software since which is compared; NULL = the baseline is another one */
};
void why_data_free(struct why_data *data);

/* Decides what a question about a moment is compared with: the moment itself, the window, the marks. They are the same for all verbs. *data keeps what the request points into. 0; -ENOPKG: the
 * baseline is the time since an upgrade, and none is recorded; or -errno. */
int why_settle(struct store *store, struct why_request *request, struct why_data *data);
/* Extracts what a settled request is answered from: all of the window, or of it the same hour of each day. As store_extract(). */
int why_extract(struct store *store, const struct why_request *request, int64_t from, int64_t to, struct extract **ret);
/* Why an answer failed (negative errno), in words; as store_reason(). */
const char *why_reason(struct store *store, int r);

/* Answers from a recording, reading no more of it than the answer needs. The request is settled first. As why_answer(); or what
 * the store's reader says. */
int why_from_store(struct store *store, const struct why_request *request, struct why_data *data, struct answer *ret);

/* Answers from a dataset that holds [at - window, at] (and beyond, for `block`). The dataset must outlive *ret.
 * 0; -ENODATA when nothing was recorded near `at`; -ENOMEM. */
int why_answer(struct dataset *d, const struct why_request *request, struct answer *ret);
