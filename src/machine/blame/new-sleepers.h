/* Threads that sleep by a timer as they did not before: who tries again and again to get what it does not get does that. One pass over the events.
 *
 * Such a thread sleeps at the freeze (nanosleep), and since ten seconds at the most its sleeps take twice as long as any before, or it slept so for the
 * first time. Whose sleeps are as long as ever is not meant, and who fell asleep before the trace began is not known.
 */
#pragma once

#include "machine/events/trace.h"

struct new_sleeper {
	uint32_t thread; /* index into trace.threads */
	uint64_t since;	 /* trace ns: the first of its sleeps of the last ten seconds */
	uint64_t longer; /* ns, than any before */
};

struct new_sleepers {
	VEC(struct new_sleeper) list; /* whose sleeps have grown most first */
};

/* 0 or -ENOMEM. The trace is finished. */
int new_sleepers_find(const struct trace *t, struct new_sleepers *ret);
void new_sleepers_free(struct new_sleepers *s);
