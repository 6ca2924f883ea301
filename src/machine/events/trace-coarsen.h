/* Within the hiding of traces: who had the CPUs, with the moments of strangers taken out.
 *
 * The viewer's own threads have their CPUs exactly when they had them. In between, what each stranger (a process of another user or
 * of the kernel) and the idle thread had of a CPU in a tick is added up, and spread evenly over what is left of that tick, in slices.
 * What a stranger had while one of the viewer's threads stood in that CPU's queue is added up and spread apart from the rest: so the
 * wait is still charged to those who caused it. Of a tick that the trace has only a part of, nothing is taken: its neighbor's
 * sums stand in for it, or else the one that asks again and again would see the part grow.
 */
#pragma once

#include "machine/events/trace.h"
#include "machine/model/visibility.h"

struct strangers;

/* `t` is finished, and stays as it is as long as *ret is used. 0 or -ENOMEM. */
int strangers_open(const struct trace *t, const struct viewer *viewer, struct strangers **ret);
void strangers_free(struct strangers *s);
/* Whether this thread is one of the viewer's own: by its number at that time, or itself. */
bool strangers_is_own(const struct strangers *s, uint32_t tid, uint64_t time);
bool strangers_excludes(const struct strangers *s, const struct trace_thread *thread);
/* The process of a stranger's thread; 0 = it has no name. 0, or -ENOMEM. */
int strangers_find(struct strangers *s, uint32_t tid, uint64_t time, uint32_t *ret_process);
/* The number under which it is shown where it runs on this CPU, one line for each CPU; 0 without memory. */
uint32_t strangers_number(struct strangers *s, uint32_t process, uint16_t cpu);
/* Whether the trace has all of the tick that this moment of a CPU lies in. */
bool strangers_has_tick(const struct strangers *s, uint16_t cpu, uint64_t time);
/* Appends the switches of all CPUs to `out`, which has as many. 0, -ENOMEM, or -E2BIG for a trace of more ticks than there can be. */
int strangers_spread(struct strangers *s, struct trace *out);
/* Adds the lines of those that were shown. 0 or -ENOMEM. */
int strangers_list(struct strangers *s, struct trace *out);
