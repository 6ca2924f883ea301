/* Names for what a trace's stacks point to in programs and libraries, from this machine's files where they are still the
 * build that was recorded. */
#pragma once

#include "machine/events/trace.h"

/* Adds symbols to a finished trace. What has no name stays without. 0 or -ENOMEM. */
int name_stacks(struct trace *t);
/* The same for the stacks of one process alone. */
int name_stacks_of(struct trace *t, uint32_t tgid);
