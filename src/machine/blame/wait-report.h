/* Reports what a thread, or all threads of a process, did in a window: time by state, number of waits, queueing delays. */
#pragma once

#include "machine/events/blame.h"

void wait_report_init(struct wait_report *r, int64_t from, int64_t to);
/* Adds a thread's part of the window. A delay, or a wait, counts in the window in which it ends. */
void wait_report_add(struct wait_report *r, const struct thread_line *line);
