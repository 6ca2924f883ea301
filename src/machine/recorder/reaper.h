/* Reaps children at normal priority, for a caller of real-time priority.
 *
 * To reap a process is to remove its directory in /proc, and the kernel waits busily while another process is releasing a part of it
 * (release_task(), shrink_dcache_parent() in fs/dcache.c). At real-time priority, on the CPU that this other one needs, that lasts until the kernel
 * throttles real-time programs: 0.95 s (sched_rt_runtime_us).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct reaper {
	pthread_t thread;
	int fd;	       /* where the thread hears whom to reap */
	bool has_thread; /* else children are reaped by who calls reaper_look() */
};

/* Children of the calling process; a fork has its own. Without a thread (no memory) they are reaped all the same. */
void reaper_open(struct reaper *ret);
void reaper_close(struct reaper *r);
/* In a fork, which has no part in it. */
void reaper_leave(struct reaper *r);
/* Whether a child has ended; `wait`: it waits until it has. Asked once more of the same child, the answer may be -ECHILD. *ret_status: as of
 * waitpid(2); *ret_usage: the child's, may be NULL. 1; 0 = it has not; -errno. */
int reaper_look(struct reaper *r, pid_t pid, bool wait, int *ret_status, struct rusage *ret_usage);
