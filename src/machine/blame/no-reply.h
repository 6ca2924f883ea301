/* Servers that sleep although they owe something an answer: another program woke one (asked it), and before it woke that one in its turn (answered)
 * it slept until another process of its own program let it continue, which it had not asked for anything. Such is a lock between the processes
 * of a database, whatever call they wait in; an event loop that waits for work looks the same but for that it owes nothing. */
#pragma once

#include "machine/events/interval.h"

struct no_reply_wait {
	uint32_t asker, server, waker; /* threads */
	int64_t from, to;
};

struct no_reply_waits {
	VEC(struct no_reply_wait) list;
};

/* All of the timeline. 0 or -ENOMEM. */
int no_reply_waits_find(const struct timeline *t, struct no_reply_waits *ret);
/* Those that last to the timeline's end: of an asker that asked a server again and again, was answered each time, and now waits while that one
 * sleeps, is stopped, waits for something else (a lock of a file, a child, a timer), or computes
 * and answers no other program either. The asker waits longer than ever, and normally not half as long as the server for its requests. Their waker is the server, or who holds the lock that keeps the server. 0 or -ENOMEM. */
int no_reply_to_the_end_find(const struct timeline *t, struct no_reply_waits *ret);
void no_reply_waits_free(struct no_reply_waits *w);
