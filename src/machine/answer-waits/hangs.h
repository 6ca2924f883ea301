/* Programs that wait for another one longer than they ever did: the commonest slowness of a machine that is short of nothing.
 *
 * A process hangs when its threads have waited for locks, network sockets, or pipes, local sockets and files for three seconds at the least, half a
 * thread more than in any three seconds of the half hour before; when an answer of another process is late (machine/blame/peer-requests.h), where
 * no event tells of the request by what the kernel says of the connection; when it
 * tries again and again to lock an SQLite database (machine/answer-live/hidden-lock.h), or to make a lock file (machine/answer-live/lock-file.h); and when it waits for what
 * another one has used up (machine/answer-waits/exhausted-limits.h). For whom it waits is looked up
 * in /proc of this moment (machine/answer-waits/wait-chain.h), where the question is about now. How likely it is to be what is slow is evidence like all
 * other (machine/answer-waits/hang-evidence.h).
 */
#pragma once

#include "machine/answer-waits/exhausted-limits.h"
#include "machine/events/trace.h"
#include "machine/findings/finding.h"
#include "machine/model/visibility.h"

#define HANG_LEAST (3 * NS_PER_SEC)
#define HANGS_MOST 16 /* whose chains are looked up: each takes some ms of CPU */

struct hang_question {
	uint32_t at;		   /* tick */
	const bool *excluded;	   /* ticks that are no baseline; NULL = none */
	const struct trace *trace; /* what threads do at its end, of which the counters may not know yet; NULL = none */
	const char *proc_root;	   /* NULL = the processes may be gone */
	const struct viewer *viewer;
	bool patient; /* a whole answer is worth more than one in time */
	int64_t incident; /* wall ns at which a shortage began; 0 = none did */
	const struct exhausted_limits *limits; /* of that moment; NULL = not looked for */
	bool pressed; /* the machine is short of something: an answer in time matters */
};

/* Appends those that may be why it is slow to a->hangs, by score. 0 or -ENOMEM. */
int hangs_find(const struct dataset *d, const struct hang_question *q, struct answer *a);
/* Who is at the end of their chains becomes a suspect like the others (machine/findings/evidence.h); a program that has stopped weighs less than one that continues.
 * The hangs stay where they are from now on. 0 or -ENOMEM. */
int hangs_add_suspects(struct answer *a);
/* No program here is known to be behind it, but it is known that an answer is missing: it is slow by what is not listed. */
bool hang_counts_alone(const struct hang *h);
/* This one is what the answer says: who waits for the same program is a victim, too. 0 or -ENOMEM. */
int hang_tell(const struct hang *h, struct answer *a);
/* It waits for what the culprit has used up. */
bool hang_is_of_limit(const struct hang *h);
/* In one sentence: who waits, for how long, for what, and who is at the end. The caller frees; NULL without memory. */
char *hang_words(const struct hang *h, int64_t at);
