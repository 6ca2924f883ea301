/* Events in, every thread's states out: the state machine (machine/events/interval.h says what comes out). */
#pragma once

#include "machine/events/interval.h"

/* `trace` is finished and must outlive the timeline. The caller frees with timeline_free(). 0, -ENOMEM, or -ENODATA for
 * a trace in which no CPU is known. Events that do not fit are tolerated and counted in ret->faults. */
int timeline_build(const struct trace *trace, struct timeline *ret);

/* The threads of a process, or the one thread with this number, alive in the window or else last: *ret (the caller frees)
 * and its length, 0 = there is none; -ENOMEM. */
int timeline_find(const struct timeline *t, uint32_t number, uint32_t **ret);
