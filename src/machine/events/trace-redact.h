/* A trace as a user may have it who does not see all (machine/model/visibility.h).
 *
 * The viewer's own threads stay as they are. Of all other threads, those of the kernel and the idle ones included, what is
 * left is the CPU time of each process and CPU in each tick (trace-coarsen.h). No event of them stays, and no event of the viewer's
 * threads names them: not as the waker, not as the holder of a lock. Addresses of the kernel, of locks and of requests become
 * numbers that are equal where these were equal: the kernel's functions keep their names, and nothing tells where it lies.
 */
#pragma once

#include "machine/events/trace.h"
#include "machine/model/visibility.h"

/* In place; the trace must be finished, and is again. 0; -ENOMEM or -E2BIG: then it must not be shown. */
int trace_redact(struct trace *t, const struct viewer *viewer);
