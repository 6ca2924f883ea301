/* For what a process waits now, and for what waits whom it waits for, down to who runs or sleeps at the end.
 *
 * /proc of this moment: the system call of each thread and its arguments, file locks, the other ends of pipes, local sockets and TCP
 * connections, the owner of a glibc mutex, children, who serves a FUSE file system. A thread's call is root's and its owner's to read.
 * A process with several threads is told by the one that is held up; an event loop only where one of its connections can be meant.
 */
#pragma once

#include "model/visibility.h"
#include "model/wait-chain.h"

#define CHAIN_MAX 12 /* links; no chain of the lab has more than five */

/* At another user's process the chain ends for a viewer (model/visibility.h) who is not root. 0 or -ENOMEM. */
/* `rest_ns`: > 0: where the first one waits, it is looked at once more after so long (wait_chain.passing). */
int wait_chain_find(const char *proc_root, unsigned pid, const struct viewer *viewer, int64_t rest_ns, struct wait_chain *ret);
