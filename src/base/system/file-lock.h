/* Who holds the file lock that a process waits for, from /proc/locks (proc_locks(5)). */
#pragma once

/* The pid of who holds what `pid` waits for; 0 where it waits for no file lock, or the kernel does not say who holds it (an open
 * file description's lock has no process). What several share one of them holds. `proc_root`: "/proc", or a test's. */
unsigned file_lock_holder(const char *proc_root, unsigned pid);
