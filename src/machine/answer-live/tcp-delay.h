/* Delays of packets of this network namespace on their way out of this machine or into it: a line that one process fills, by the round trips of all
 * connections against their minimum and by the queue of the interface, and packets that a program's own connection holds back. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/answer-live/open-files.h"

#define TCP_DELAY_LEAST 100000 /* us: acknowledgements may be held back for 40 ms */

enum tcp_delay_kind {
	TCP_DELAY_NONE,
	TCP_DELAY_OUT,	/* one process sends so much that all that leaves by an interface waits */
	TCP_DELAY_IN,	/* one receives so much that all that comes in there waits */
	TCP_DELAY_HELD, /* a small packet is held back until the one before it is confirmed, which the other end puts off (RFC 896, RFC 1122 4.2.3.2) */
};

#define TCP_WAITS_MOST 8

/* Processes of this machine that wait, each once. */
struct tcp_waits {
	uint32_t pids[TCP_WAITS_MOST], n;
};

struct tcp_delay {
	enum tcp_delay_kind kind;
	int64_t ns;	  /* longer than the path takes */
	uint32_t pid;	  /* who sends, receives or holds back; 0 = not known */
	struct tcp_waits waits; /* whose packets wait: not all need be known */
	char of[72];	  /* the interface, or "192.0.2.7:5432", to which they are held back */
};

/* The longest: lines before what is held back. 0 or -errno. */
int tcp_delay_find(struct open_files *files, struct tcp_delay *ret);
/* A pid of 0 adds nothing. False: there is room for no more. */
bool tcp_waits_add(struct tcp_waits *w, uint32_t pid);
