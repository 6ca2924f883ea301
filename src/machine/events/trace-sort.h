/* Within the trace: its events in order of time. */
#pragma once

#include "machine/events/trace.h"

/* Stable. Each CPU's records are nearly in order: runs are found and merged. 0 or -ENOMEM. */
int trace_sort(struct trace *t);
