/* For what a process waits now, and for what waits whom it waits for, down to who runs or sleeps at the end.
 *
 * /proc of this moment: the system call of each thread and its arguments, file locks, the other ends of pipes, local sockets and TCP
 * connections, the owner of a glibc mutex, children, who serves a FUSE file system. A thread's call is root's and its owner's to read.
 * A process with several threads is represented by the one that is held up, or that was asked by the one before in the chain, where events say so.
 * Of an event loop the connection counts over which it has asked and is not answered, by events, or its only one.
 */
#pragma once

#include "lib/system/file-lock.h"
#include "machine/answer-live/database-query.h"
#include "machine/answer-live/open-files.h"
#include "machine/answer-live/process-memory.h"
#include "machine/blame/peer-requests.h"
#include "machine/events/wait-chain.h"
#include "machine/model/dataset.h"
#include "machine/model/visibility.h"

#define CHAIN_MAX 12 /* links; no chain of the lab has more than five */

struct chain_question {
	const char *proc_root;		 /* "/proc", or a test's */
	const struct viewer *viewer;	 /* at another user's process the chain ends for who is not root (machine/model/visibility.h) */
	int64_t rest_ns;		 /* > 0: where the first one waits, it is looked at once more after so long (wait_chain.passing) */
	const struct peer_requests *requests; /* of a moment ago; NULL = there are no events */
	struct file_locks *locks;	      /* read once for several chains; NULL = this one reads its own */
	struct open_files *files;	      /* ... too */
	const struct trace *trace;	      /* of a moment ago; NULL = there are no events */
	struct process_memory *memory;	      /* for several chains; NULL = this one has its own */
	struct database_clients *databases;    /* to ask a database who blocks a session; NULL = it is not asked */
};

/* 0 or -ENOMEM. */
int wait_chain_find(const struct chain_question *q, unsigned pid, struct wait_chain *ret);
/* Calls the programs of its links what the dataset has of them, which tells no more than its viewer may see (dataset_hide()). 0 or -ENOMEM. */
int wait_chain_name(const struct dataset *d, struct wait_chain *c);
