/* Who made whom wait, by program: the flight recorder's events (machine/events/blame.h) brought together with the recording's
 * programs. What a program made itself wait for is no charge, but for locks of
 * its own; who is niced waits by choice, and is nobody's victim. Whom another program stops again and again waits for that one, as does
 * who writes what that one does not read. */
#pragma once

#include "machine/events/blame.h"
#include "machine/findings/finding.h"
#include "machine/model/dataset.h"

enum charge_how {
	CHARGE_USED,	 /* the culprit had what the victim wanted, or kept from it whoever the victim waited for */
	CHARGE_HELD,	 /* ... the lock itself */
	CHARGE_INFERRED, /* ... a lock, concluded from who woke the victim */
	CHARGE_STOPPED,	 /* no lock, but alike: it stopped the victim, by signals or as its tracer */
	CHARGE_OWED,	 /* it slept until another process of its own let it go on, while it owed the victim an answer (machine/blame/no-reply.h) */
	CHARGE_UNANSWERED, /* it always answered the victim, and now does not while that one waits for it; or holds the lock that the server wants */
	CHARGE_UNREAD,	 /* it slept instead of reading what the victim wrote to it */
};

struct charge {
	const char *victim, *culprit; /* subject.program; belongs to the dataset */
	enum bottleneck of;	      /* what the victim waited for, or whoever held it up: CPU, DISK, MEMORY, LOCK or PEER */
	enum charge_how how;
	double seconds; /* per second */
	double rested;	/* ... of that, while the culprit slept by its own will */
	double before;	/* of PEER: what the victim waited in this way before the trouble; NaN = there are no events of that */
};

struct charges {
	double covered; /* seconds of the trouble of which events are kept; 0 = none */
	VEC(struct charge) list; /* the most first */
	double total[BOTTLENECK_COUNT]; /* of the list */
	double stopped;			/* ... of that, by being stopped */
};

/* Of a longer trace the last events: with a timeline of 80 bytes for each, a question stays below 150 MiB. */
#define CHARGES_EVENTS_MAX (512u << 10)

/* Of the ticks [from, to]; the trace may cover a part of them only, or nothing: then *ret is empty. 0 or -errno. */
int charges_of_trace(const struct trace *t, const struct dataset *d, uint32_t from, uint32_t to, struct charges *ret);
void charges_free(struct charges *c);
/* Seconds per second that others waited on account of a program; 0 where none are known. */
double charges_against(const struct charges *c, const char *program, enum bottleneck of);
/* Seconds per second that others, not its own processes, waited on account of a program in this way; *ret_rested of it while it slept. */
double charges_by(const struct charges *c, const char *program, enum charge_how how, double *ret_rested);
/* Whom it made wait longest; NULL = nobody but itself. */
const char *charges_victim(const struct charges *c, const char *program, enum bottleneck of);
