/* Private to wait-chain.c and chain-*.c: `struct chain_search`, the search for a chain of waits, and what its parts do for each other.
 *
 * wait-chain.c goes from process to process; chain-thread.c chooses the thread that counts and classifies its wait; chain-file.c,
 * chain-events.c, chain-lock.c, chain-quota.c and wait-chain.c find for whom it waits. A finder fills in `kind`, `words`, `next_pid` and what else it knows of the
 * link; a finder that returns bool changes nothing where it returns false.
 */
#pragma once

#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "machine/answer-live/database-query.h"
#include "machine/answer-live/live-thread.h"
#include "machine/answer-live/other-end.h"
#include "machine/answer-waits/wait-chain.h"

#define CHAIN_TCP_CLOCK (250 * NS_PER_MS) /* how exactly TCP says when something was sent: what is not confirmed soon is sent again */

#define CHAIN_TAKEN_UP (NS_PER_SEC / 2)	  /* so soon who is handed a request begins with it; for so long before one a thread is made for it */

/* The kind of thing that a system call waits for. */
enum chain_class { CLASS_ANYTHING, CLASS_FILE_LOCK, CLASS_TO_READ, CLASS_TO_WRITE, CLASS_FOR_ANSWER, CLASS_FOR_EVENTS, CLASS_FOR_LOCK,
		   CLASS_FOR_SEMAPHORE, CLASS_FOR_TIMER, CLASS_FOR_CHILD, CLASS_FOR_DISK };

/* The part of the kernel in which a thread sleeps, where that tells more than its call. From WITHIN_FUSE on another process holds it up. */
enum chain_within { WITHIN_ANYTHING, WITHIN_FUSE_SERVER /* for its next request */, WITHIN_FUSE, WITHIN_SCANNER, WITHIN_LEASE,
		    WITHIN_FIFO, /* which it opens, and no one else has it open for the opposite */
		    WITHIN_FREEZE /* or another lock of that kind, of which writers are kept out by one that changes all */ };

struct chain_search {
	const char *proc_root; /* these eight: as in struct chain_question; `locks`, `files` and `memory` are never NULL */
	const struct viewer *viewer;
	const struct peer_requests *requests;
	struct file_locks *locks;
	struct open_files *files;
	struct process_memory *memory;
	const struct trace *trace;
	struct database_clients *databases;
	struct wait_chain *chain;
	int64_t since; /* of the request that led here (event time): what this one asked before that was for another */
	uint64_t asked_at; /* the request that led here was made then, or a little later (event time); 0 = not known */
	struct database_blocker blocker; /* whom the database named for the one before; number 0 = it did not */
	struct live_thread t;
	bool was_asked; /* by the process before, and has not answered */
	enum chain_class class;
	/* the link that is found */
	enum chain_kind kind;
	struct str words;
	const char *role;		 /* of the next */
	bool reads, is_input, serves, idle, retries, unanswered; /* as in struct chain_link */
	unsigned asked_ms;		 /* ... */
	char ends[48];			 /* ... */
	bool unread;			 /* the next has not read the request: its workers are busy with something else */
	bool not_accepted;		 /* the next has not taken the connection */
	bool asks_name, resolves;	 /* the next is a name server, which is asked for a name; so is this one */
	unsigned next_pid, next_tid;	 /* 0 = the chain ends; tid 0 = the thread that is held up most */
	unsigned asked;			 /* the thread of the next that was asked; 0 = not known */
};

/* wait-chain.c */
/* Whether the viewer sees that of a process, whole. */
bool chain_shows(const struct chain_search *s, unsigned pid, enum datum datum);
/* The process before this one's in the chain; 0 = this is the first. A process that waits for its next request waits for that one. */
unsigned chain_asker(const struct chain_search *s);
/* Event time since which it reads what is not there yet, or polls for it, without any event; 0 = it does not. */
uint64_t chain_reads_since(const struct chain_search *s);
/* The link of a thread that waits for no one thing. */
void chain_rest(struct chain_search *s, const char *words);

/* chain-thread.c */
int chain_read_thread(const struct chain_search *s, unsigned pid, unsigned tid, struct live_thread *ret); /* as live_thread_read(), with its memory */
enum chain_class chain_class_of(const char *call); /* NULL: CLASS_ANYTHING */
enum chain_within chain_within_of(const struct live_thread *t);
/* Thread `tid`, where it is not 0; else the one that was asked, if it does not wait for more; else the main thread, unless another one is
 * held up more. Where no thread is, the one that was asked, too, if it waits for another thread. False: the process is gone. */
bool chain_choose_thread(struct chain_search *s, unsigned pid, unsigned tid, unsigned asked, struct live_thread *ret);
/* The process that is held up most, of those that have the other end open; of several the one that last had a CPU, as the one that took
 * what others wait for (a job server's token in a pipe) has had later than those that only keep it open. A master that only waits for events
 * comes after the workers that accept connections for it. 0 = none. */
unsigned chain_choose_process(struct chain_search *s, const struct other_end *e);

/* It has done one thing since about when the request that led here was made. */
bool chain_began_then(const struct chain_search *s, const struct trace_thread *th);

/* chain-file.c: a file, the other end of a pipe or connection, a file system that a program serves */
void chain_put_file(struct chain_search *s, unsigned long long fd); /* its path, into the words */
void chain_follow_end(struct chain_search *s, const struct other_end *e, bool writes);
bool chain_leads_back(const struct chain_search *s, const struct other_end *e); /* to the asker */
/* A worker hears from its master over that, or hears that this has ended: it mostly waits for its next work. */
bool chain_leads_to_parent(const struct chain_search *s, const struct other_end *e);
void chain_find_file(struct chain_search *s);
void chain_find_fuse(struct chain_search *s);
void chain_find_scanner(struct chain_search *s);
void chain_find_disk(struct chain_search *s);
/* The link of a thread that opens a named pipe: the only other process whose command line has its path. */
void chain_find_fifo(struct chain_search *s);
/* The link of a thread that writes and is WITHIN_FREEZE. */
void chain_find_frozen_files(struct chain_search *s);

/* chain-quota.c: who has used up the CPU quota of the control group, while a thread that has work is kept from running by it */
bool chain_find_quota(struct chain_search *s);

/* chain-events.c: the one of many connections */
void chain_find_events(struct chain_search *s);
/* The only child that does something else than wait for it, of who waits as `words` say. Whom no one has asked has it do its own work: it must be of the
 * same executable, as the workers of a pool are, for other children have a life of their own. */
bool chain_find_busy_child(struct chain_search *s, const char *words);
/* Does thread `t` read from a connection to process `pid`, or is that one of those that it waits for? */
bool chain_waits_for(const struct chain_search *s, const struct live_thread *t, unsigned pid);

/* chain-lock.c: locks of files, threads and databases */
void chain_find_file_lock(struct chain_search *s);
void chain_find_lease(struct chain_search *s);
void chain_find_lock(struct chain_search *s);
void chain_find_semaphore(struct chain_search *s); /* of System V */
/* Sleeps: between attempts to lock a database or to make a lock file, or for another reason. */
void chain_find_timer(struct chain_search *s);
/* Another thread of a process that was asked, and whose chosen thread waits for events: the one that has worked since. */
bool chain_find_worker(struct chain_search *s);
/* A backend of PostgreSQL that has nothing to do, that waits for a lock of a transaction, or that the one before waits for: whose transaction it
 * is, and for which client that one keeps it. */
bool chain_find_transaction(struct chain_search *s);
/* Whose request the asked server had not answered before that of the asker: of several the oldest one. `words` say how it waits for that, up to
 * "a request". */
bool chain_find_older_request(struct chain_search *s, const char *words);
/* The client of a transaction that is open, or of an older request: whatever it does, it does not end it. */
bool chain_find_holding_client(struct chain_search *s);
