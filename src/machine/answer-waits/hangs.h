/* Programs that wait for another one longer than they ever did: the commonest slowness of a machine that is short of nothing.
 *
 * A process hangs when its threads have waited for locks, network sockets, or pipes, local sockets and files for three seconds at the least, half a
 * thread more than in any three seconds of the half hour before; when an answer of another process is late (machine/blame/peer-requests.h), where
 * no event tells of the request by what the kernel says of the connection; when it
 * tries again and again to lock an SQLite database (machine/answer-live/hidden-lock.h), or to make a lock file (machine/answer-live/lock-file.h); or when it has gone quiet (machine/answer-waits/quiet.h). For whom it waits is looked up
 * in /proc of this moment (machine/answer-waits/wait-chain.h), where the question is about now.
 */
#pragma once

#include "machine/events/trace.h"
#include "machine/findings/finding.h"
#include "machine/model/visibility.h"

#define HANG_LEAST (3 * NS_PER_SEC)
#define HANGS_MOST 8 /* whose chains are looked up: each takes some ms of CPU */

struct hang_question {
	uint32_t at;		   /* tick */
	const bool *excluded;	   /* ticks that are no baseline; NULL = none */
	const struct trace *trace; /* what threads do at its end, of which the counters may not know yet; NULL = none */
	const char *proc_root;	   /* NULL = the processes may be gone */
	const struct viewer *viewer;
	bool patient; /* a whole answer is worth more than one in time */
	bool pressed; /* the machine is short of something: an answer in time matters */
};

/* Appends to a->hangs, the longest chain first. 0 or -ENOMEM. */
int hangs_find(const struct dataset *d, const struct hang_question *q, struct answer *a);
/* Does its chain end at another program, which does something else than wait for work or has not answered over TCP, or at another machine that does
 * not answer? */
bool hang_is_explained(const struct hang *h);
/* Does it say more than a shortage for which programs wait that share of the time? A program that stands still does, where less than half of that
 * is waited, and where who is at the end of its chain neither runs nor waits for the disk, which a shortage would explain. */
bool hang_outweighs(const struct hang *h, double pressure);
/* The process at the end of its chain; NULL = none. */
const struct subject *hang_culprit(const struct dataset *d, const struct hang *h);
/* Is it known who is at the end of its chain, or that it is another machine? */
bool hang_can_be_answer(const struct dataset *d, const struct hang *h);
/* The first hang becomes what the answer says, if it can: without a suspect where another machine is waited for. True if it has. -ENOMEM. */
int hangs_become_answer(const struct dataset *d, struct answer *a);
/* In one sentence: who waits, for how long, for what, and who is at the end. The caller frees; NULL without memory. */
char *hang_words(const struct dataset *d, const struct hang *h, int64_t at);
