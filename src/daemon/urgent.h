/* Real-time priority, for what must run at once on a machine that crawls and takes little: a question, and the copy of the flight
 * recorder. Above most real-time programs and threaded interrupts (50), which would starve both. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define URGENT_PRIORITY 51

/* For the calling thread, not for what it starts; or back to the usual. 0, or -EPERM without the right to it: nothing has happened. */
int urgent_set(bool urgent);

/* CPU time after which a thread loses its real-time priority. */
struct urgent_budget {
	timer_t timer;
};

/* For the calling thread, by a clock of CPU time (CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID). 0 or -errno. */
int urgent_budget_open(struct urgent_budget *ret, clockid_t clock);
/* So many ns from now on; 0 = without end. */
void urgent_budget_set(struct urgent_budget *b, int64_t ns);
void urgent_budget_close(struct urgent_budget *b);
