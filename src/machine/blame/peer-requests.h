/* Requests between programs and how long their answers take, by wakeups alone: one pass over the events, no timeline.
 *
 * A thread that wakes a thread of another process asks it; when a thread of that process wakes it, that is the answer. Both directions of a
 * conversation look alike but for the time that they take: a server answers at once, and waits for the next request for as long as its
 * client pleases. So a direction counts where its answers normally take less than half of what the other direction takes. That way a wait
 * for an answer is distinguished from a wait for the next request, whatever call it is in (poll, recv, a futex).
 *
 * An answer is late where it takes a second or more, and five times as long as any of ten or more before, of the same two processes
 * or, where these are new, of two of the same names. Known before is what ended half of the trace, or 30 s, ago; late now what came within the
 * last 10 s, or has not come yet.
 *
 * Who was answered while it was still awake is not woken by the answer: a request is over when its sender sleeps in another call than the one in which
 * this server has answered it. An event loop sleeps in one call, whatever it waits for: where the server sleeps again in the call in which it was
 * asked, it is unsure whether it has answered. The next request then is a new one, and the reader confirms that the old one is not answered.
 *
 * A server that computes, or sleeps for something else than requests, is not woken by one. Such a request is assumed where the client sleeps in the
 * call in which this server has answered it ten times or more, and the thread that it asked last is not where it was asked; and so is one whose server
 * has slept there since and runs again, perhaps for another client. The reader confirms it by what the kernel says of the connection
 * (machine/answer-live/other-end.h).
 */
#pragma once

#include "machine/events/trace.h"

struct peer_request {
	uint32_t thread, process; /* who asks: indexes into trace.threads of the thread; its tgid */
	uint32_t asked;		  /* whom it asked: a tid of process `server` */
	uint32_t server;
	int64_t since;		  /* CLOCK_MONOTONIC: the pending request's; of those that are answered the slowest one's */
	int64_t took, normally;	  /* ns: it has taken so far, or took; the longest before */
	bool pending;
	bool unsure; /* pending, or answered while who asks was awake */
	bool asks; /* answers of these two come quicker than what goes the other way: it is known who asks */
};

struct peer_requests {
	VEC(struct peer_request) late;    /* the longest first; at most one of two processes */
	VEC(struct peer_request) pending; /* all that are not answered, late or not (took; normally = 0) */
	VEC(struct peer_request) assumed; /* since the client last went to sleep; no answer came for a second and five times as long as any before */
};

#define REQUEST_LATE (1000000000ll) /* ns */

/* 0 or -ENOMEM. The trace is finished. */
int peer_requests_find(const struct trace *t, struct peer_requests *ret);
void peer_requests_free(struct peer_requests *r);
/* Late, measured by what is normal of it. */
bool peer_request_is_late(int64_t took, int64_t normally);
/* Of process `pid`, the first that it asked at `since` or later and has no answer to; NULL = there is none. */
const struct peer_request *peer_requests_pending_of(const struct peer_requests *r, uint32_t pid, int64_t since);
