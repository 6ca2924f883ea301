/* Who holds the file lock that a process waits for, from /proc/locks (proc_locks(5)).
 *
 * A program that opens that list waits for a grace period of RCU (locks_start() in the kernel's fs/locks.c takes a percpu_rw_semaphore):
 * 10 ms on a calm machine, seconds where real-time programs starve the kernel's threads. So a question reads it once, when it first needs
 * it, and waits for it within a bound. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#define FILE_LOCKS_PATIENCE 2000 /* ms, where no answer is due */

/* Begins with proc_root ("/proc", or a test's; must outlive it) and patience (ms) alone; ends with file_locks_free(). */
struct file_locks {
	const char *proc_root;
	int patience;
	bool was_read;
	char *text; /* NULL = it was not readable in time, or memory is short */
};

/* The list, as the kernel writes it; the caller closes it before file_locks_free(). NULL = not known, or empty. */
FILE *file_locks_open(struct file_locks *l);
/* The pid of who holds what `pid` waits for; 0 where it waits for no file lock, or the kernel does not say who holds it (an open
 * file description's lock has no process). What several share one of them holds. */
unsigned file_locks_holder(struct file_locks *l, unsigned pid);
void file_locks_free(struct file_locks *l);
