/* A thread for what may block for ever: reading another process's memory, or a file system that has died.
 *
 * /proc/PID/maps and cmdline take the process's memory lock, and wait in state D while another thread of it holds that lock and waits for
 * a disk. The caller hands over a job and waits for a bounded time. If the job does not come back, its thread is left with it, and the
 * next job has a new thread. At most HELPERS_LEFT_MAX are left at a time. A thread that was left releases its job when it comes back.
 *
 * A helper belongs to one thread of one process: after a fork the child makes its own.
 */
#pragma once

#include <stdint.h>

#define HELPERS_LEFT_MAX 4 /* each holds its job's memory and a stack of 512 KB */

struct helper;

int helper_new(struct helper **ret);
/* Its threads have the caller's real-time priority, where that is allowed: for jobs that wait, and take no CPU time to speak of. */
int helper_new_as_caller(struct helper **ret);
/* Does work(job) in the helper's thread. 0: done, the job is the caller's. -ETIMEDOUT after `patience` ns: the thread calls
 * release(job) when work() returns. -EBUSY (as many are left as may be) and -EAGAIN (no thread): nothing was begun, the job is the caller's. */
int helper_do(struct helper *h, void (*work)(void *job), void (*release)(void *job), void *job, int64_t patience);
/* Waits for no thread that was left behind. NULL is allowed. */
void helper_free(struct helper *h);
