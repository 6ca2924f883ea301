/* For what a process waits, and for what waits whom it waits for: what machine/answer-waits/wait-chain.c finds and views show. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/vec.h"

/* Values are names in JSON (chain_kind_names): never renamed. */
enum chain_kind {
	CHAIN_UNKNOWN,
	CHAIN_RUNS,
	CHAIN_SLEEPS,	    /* by its own will, until a timer */
	CHAIN_STOPPED,
	CHAIN_FILE_LOCK,
	CHAIN_LOCK,	    /* of threads: a futex */
	CHAIN_PIPE,
	CHAIN_LOCAL_SOCKET,
	CHAIN_TCP,	    /* the other end is on this machine */
	CHAIN_UDP,	    /* ... too */
	CHAIN_REMOTE,	    /* ... is not */
	CHAIN_CHILD,
	CHAIN_FUSE,
	CHAIN_SCANNER,	    /* asked before a file is opened (fanotify) */
	CHAIN_DISK,
	CHAIN_EVENTS,	    /* an event loop, a server without work, a condition: it can be about anything */
	CHAIN_DATABASE,	    /* a lock inside a database server, of a transaction */
	CHAIN_OLDER_REQUEST, /* inside a server, which has not answered another client either */
	CHAIN_FROZEN,	    /* a file system that takes no writes until it is thawed: who froze it need not be there any more */
	CHAIN_QUOTA,	    /* its control group has used up its share of the CPUs */
	CHAIN_LIMIT,	    /* a limit of its own is used up, so that it cannot do what it is asked for */
	CHAIN_KINDS
};
extern const char *const chain_kind_names[CHAIN_KINDS];

struct chain_link {
	unsigned pid, tid;
	char comm[20];
	char *label;	      /* what answers call its program (entity_label()); NULL = it is not recorded, or not named yet */
	enum chain_kind kind; /* what it does, or for what it waits */
	char *words;	      /* "waits for a lock on /srv/db", "sleeps" */
	const char *role;     /* what it is to the one before: "which holds it"; NULL of the first */
	bool reads;	      /* waits for data that others may write when they please: as much work as a hang */
	bool is_input;	      /* ... and that is its standard input, a pipe */
	bool serves;	      /* waits for data over a connection that the other end made: mostly the next request */
	bool idle;	      /* has nothing to do, by its own word */
	bool retries;	      /* wakes again and again to see whether it is its turn */
	bool unanswered;      /* the kernel says so of the connection: what it sent is not read, or of TCP not answered */
	unsigned asked_ms;    /* of TCP: so long ago; else 0 */
	char ends[48];	      /* SQL that ends this session of a database, whose transaction is open; "" = it is none */
};

struct wait_chain {
	VEC(struct chain_link) links; /* none: the process is gone, or may not be looked at */
	bool cycle;		      /* the last one waits for one of those before: a deadlock, if of locks */
	unsigned cycle_pid;
	bool passing; /* the first one continued while it was looked at: such a wait is not a hang */
};

void wait_chain_free(struct wait_chain *c);
/* Its program as answers call it, where that is known, and else its thread's name. */
const char *chain_link_name(const struct chain_link *l);
/* How to end the open transaction of a database that others of the chain wait for, a whole sentence; NULL = there is none, or there is no memory. The
 * caller frees. */
char *wait_chain_remedy(const struct wait_chain *c);
