/* At a freeze: who holds the file locks that threads of the trace wait for. Events do not say so before the lock is handed over. */
#pragma once

#include "machine/events/trace.h"

/* Sets trace_thread.owner of those that wait in flock or fcntl, from /proc/locks, where the kernel says who holds it. `proc_root`:
 * "/proc", or a test's; it takes `patience` ms at most. */
void capture_locks(struct trace *t, const char *proc_root, int patience);
