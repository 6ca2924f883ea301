/* Takes connections in for the HTTP server, so that half-open and slow ones shut no one out.
 *
 * A connection is trusted once a request with a good token or session came over it. One that is not has 10 s to send a request's
 * headers and 60 s to take its answer. When as many connections are open as may be, the next one takes the place of one that is not
 * trusted (where all are, of one that waits for its next request): the oldest of the owner who has most of them. An owner is a user of this machine (over loopback, by the kernel's word), or
 * an address (of IPv6 a /64). So a user who opens thousands pushes out that user's own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/data/clock.h"

#define GATE_HEADER_TIME (10 * NS_PER_SEC)
#define GATE_ANSWER_TIME (60 * NS_PER_SEC)

struct gate;
struct gate_place; /* a connection's */

struct gate_options {
	int fd;		       /* listens; the gate closes it */
	unsigned places;       /* connections at a time */
	int64_t header_time;   /* ns; 0 = GATE_HEADER_TIME */
	/* Hands a connection on; false: it could not be taken, and is closed already. */
	bool (*admit)(void *data, int fd, const struct sockaddr *address, socklen_t n);
	void *data;
};

/* 0 or -errno. The descriptor is the gate's in either case. */
int gate_start(const struct gate_options *options, struct gate **ret);
/* No further connections; places stay until each is left. */
void gate_stop(struct gate *g);
void gate_free(struct gate *g);

/* The place of a connection that was admitted, or NULL. */
struct gate_place *gate_find(struct gate *g, int fd);
/* Before the connection's descriptor is closed. */
void gate_leave(struct gate *g, struct gate_place *place);
/* A request's headers have come; its answer has gone. */
void gate_began(struct gate *g, struct gate_place *place);
void gate_ended(struct gate *g, struct gate_place *place);
void gate_trust(struct gate *g, struct gate_place *place);
/* The uid at the other end; PEER_UNKNOWN (lib/net/sessions.h) where it is on another machine. */
uint32_t gate_peer(const struct gate_place *place);
/* How many connections were ended for another one or because they took too long. */
uint64_t gate_evicted(struct gate *g);
