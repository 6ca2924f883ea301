/* A low real-time priority is worse than none when a real-time program above it takes every CPU: the kernel keeps 5 % of the time for
 * programs of normal priority alone. A thread of normal priority therefore looks whether the guarded one gets a CPU. */
#pragma once

#include <stdbool.h>

struct priority_guard;

/* Guards the calling thread, which has real-time priority and reads `fd` (a device, a pipe, an epoll instance) when it is readable: if it is
 * ready to run for 50 ms while `fd` stays readable and gets no CPU, it has normal priority from then on. Costs nothing while nothing is to
 * be read. `fd` stays the caller's and must outlive the guard. 0 or -errno. */
int priority_guard_start(int fd, struct priority_guard **ret);
/* Whether the priority was taken away since this was last asked. NULL is allowed. */
bool priority_guard_acted(struct priority_guard *g);
/* NULL is allowed. */
void priority_guard_stop(struct priority_guard *g);
