/* Names for what a trace's stacks point to in programs and libraries, from this machine's files where they are still the
 * build that was recorded. */
#pragma once

#include "model/event/trace.h"

/* Adds symbols to a finished trace. What has no name stays without. 0 or -ENOMEM. */
int name_stacks(struct trace *t);
