/* Who made whom wait, by program: the flight recorder's events (model/blame.h) brought together with the recording's
 * programs. What a program made itself wait for is no charge, but for locks of
 * its own; who is niced waits by choice, and is nobody's victim. Whom another program stops again and again waits for that one. */
#pragma once

#include "model/blame.h"
#include "model/dataset.h"
#include "model/finding.h"

struct charge {
	const char *victim, *culprit; /* subject.program; belongs to the dataset */
	enum bottleneck of;	      /* what the victim waited for, or whoever held it up: CPU, DISK, MEMORY or LOCK */
	bool inferred;		      /* of a lock: who held it was concluded from who woke the victim */
	bool stopped;		      /* no lock, but alike: the culprit stopped the victim, by signals or as its tracer */
	double seconds;		      /* per second */
};

struct charges {
	double covered; /* seconds of the trouble of which events are kept; 0 = none */
	VEC(struct charge) list; /* the most first */
	double total[BOTTLENECK_COUNT]; /* of the list */
	double stopped;			/* ... of that, by being stopped */
};

/* Of the ticks [from, to]; the trace may cover a part of them only, or nothing: then *ret is empty. 0 or -errno. */
int charges_of_trace(const struct trace *t, const struct dataset *d, uint32_t from, uint32_t to, struct charges *ret);
void charges_free(struct charges *c);
/* Seconds per second that others waited on account of a program; 0 where none are known. */
double charges_against(const struct charges *c, const char *program, enum bottleneck of);
/* ... of that, while it had stopped them. */
double charges_of_stops(const struct charges *c, const char *program);
