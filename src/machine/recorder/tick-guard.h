/* Sees to it that the sampler runs. It has the lowest real-time priority, which is below real-time programs that take every CPU: then it
 * gets none at all, for the kernel keeps 5 % of the time for programs of normal priority alone. Nothing would be recorded while such
 * programs run, and an answer would have to look for five seconds instead.
 *
 * The sampler sets a timer at each tick to a moment that it should never see. The process that answers, which is at URGENT_PRIORITY, waits
 * for that timer, and raises the sampler to URGENT_PRIORITY for a minute.
 *
 * A raised sampler may still wait: for a lock of the process (the allocator's, the kernel's mmap_lock) that a thread of normal priority
 * holds, which gets no CPU. Neither lock inherits priority, so the threads are raised, too, until the sampler ticks, for a second at most
 * of every six. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define SAMPLER_PRIORITY 1

struct tick_guard;

/* Before the process that answers is forked. 0 or -errno. */
int tick_guard_new(struct tick_guard **ret);
void tick_guard_free(struct tick_guard *g);

/* In the sampler, at each tick; the next one comes within `interval` ns. NULL is allowed. */
void tick_guard_renew(struct tick_guard *g, int64_t interval);

/* In the process that waits: readable where ticks are late; -1 for NULL. */
int tick_guard_fd(const struct tick_guard *g);
/* It is readable: raises the thread `sampler` where it stays late, and then the other threads of its process. */
void tick_guard_act(struct tick_guard *g, pid_t sampler);
