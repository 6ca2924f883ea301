/* A trace as somebody else than root may have it: who waited for whom stays, what is another user's does not.
 *
 * Other users' threads keep their names, numbers and times; their executables, the user's side of their stacks, where
 * their code lies and the texts they marked are taken out. Addresses of the kernel and of locks become numbers that are
 * equal where these were equal: the kernel's functions keep their names, and nothing tells where it lies.
 */
#pragma once

#include "model/trace.h"

/* In place; the trace must be finished, and is again. 0 or -ENOMEM: then it must not be shown. */
int trace_hide(struct trace *t, uint32_t viewer);
