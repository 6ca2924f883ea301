/* Real-time priority, for what must run at once on a machine that crawls and takes little: a question, the copy of the flight
 * recorder, and the one that holds a lock that these two wait for. Above most real-time programs and threaded interrupts (50), which
 * would starve them. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define URGENT_PRIORITY 51

/* For the calling thread, not for what it starts; or back to the normal. 0, or -EPERM without the right to it: nothing has happened. */
int urgent_set(bool urgent);
bool urgent_is(void);
/* Threads that are made with these attributes get the caller's real-time priority, if it has one: SCHED_RESET_ON_FORK would take it away.
 * Without the right to it pthread_create() returns EPERM. */
void urgent_threads_too(pthread_attr_t *attributes);
/* For the calling thread and the processes that it forks: a process that had to become urgent by itself would first wait for a CPU. */
int urgent_set_inherited(void);

/* Makes room for so many descriptors in the process's table, before it has threads: later it would wait for a grace period of RCU each time
 * the table grows (expand_fdtable() in the kernel's fs/file.c), which takes seconds where real-time programs starve the kernel's threads.
 * A fork has a table of its own. */
void urgent_reserve_files(int n);

/* Raises the calling thread for as long as it holds a lock that urgent threads take, too: a holder of the baseline priority gets no CPU
 * next to a storm, and they would wait with it (immediate priority ceiling; Sha, Rajkumar, Lehoczky 1990). Sections do not nest.
 * Without the right to real-time priority nothing happens. A budget that ends in the meantime takes effect at the section's end. */
struct urgent_section {
	int policy, priority; /* from before */
	bool raised;
};
struct urgent_section urgent_section_begin(void);
void urgent_section_end(const struct urgent_section *s);

/* CPU time after which a thread loses its real-time priority. */
struct urgent_budget {
	timer_t timer;
};

/* For the calling thread, by a clock of CPU time (CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID). 0 or -errno. */
int urgent_budget_open(struct urgent_budget *ret, clockid_t clock);
/* So many ns from now on; 0 = without end. */
void urgent_budget_set(struct urgent_budget *b, int64_t ns);
/* Whether the thread has not used it up. */
bool urgent_budget_is_left(const struct urgent_budget *b);
void urgent_budget_close(struct urgent_budget *b);
/* Makes a process of one thread urgent until it has used so many ns of CPU time. 0, or -errno: it is not urgent. */
int urgent_for(int64_t ns);
