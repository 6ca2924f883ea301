/* A thread that sleeps in poll(2), select(2) or epoll_wait(2) waits for an answer, or for new work: this tells which. Freestanding: for the BPF
 * programs and for user space.
 *
 * Every client with a time limit polls its socket before it reads, and then waits as one does that sleeps in recv(2). An event loop polls, too,
 * and rests. They differ in what they poll:
 *
 *   a client polls one connection, which it has opened itself; perhaps with a descriptor by which other threads wake it. Between two requests
 *   it may also poll, so with other descriptors next to the connection it must have sent something that nothing was received for
 *   a server polls sockets that are connected to (they listen, or were accepted), or has many connections
 */
#pragma once

#include "machine/events/classify.h"

#define POLL_FILES_MOST 7 /* who polls more is an event loop */

struct poll_wait {
	event_u32 files;  /* that are polled; more than POLL_FILES_MOST = not all were looked at */
	event_u32 opened; /* of those, connections that this side has opened */
	event_u32 served; /* of those, sockets that others connect or have connected to */
	event_u8 call;	  /* of the connection: CALL_SOCKET or CALL_LOCAL_SOCKET */
};

/* Is it a wait for the other end of one connection? Where other files are polled, too, only while that owes an answer. */
static inline __attribute__((always_inline)) int poll_is_of_one(const struct poll_wait *w)
{
	return w->opened == 1 && !w->served && w->files <= POLL_FILES_MOST;
}

/* The thread is known to have sent and received so much on the connection that it polled last. */
struct poll_memory {
	event_u64 connection; /* 0 = none */
	event_u32 sent, received;
	event_u8 asked;
};

/* It goes to sleep now. A connection that was not polled before has been asked if nothing was ever received by it. */
static inline __attribute__((always_inline)) event_u8 poll_note(struct poll_memory *m, event_u64 connection, event_u32 sent, event_u32 received,
								event_u8 ever_received)
{
	if (m->connection != connection)
		m->asked = !ever_received;
	else if (m->sent != sent)
		m->asked = 1;
	else if (m->received != received)
		m->asked = 0;
	m->connection = connection;
	m->sent = sent;
	m->received = received;
	return m->asked;
}
