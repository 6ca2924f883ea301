/* How much of a program's CPU time goes into collecting garbage: a runtime whose heap is nearly full does little else. */
#pragma once

#include "machine/events/trace.h"

/* The share that threads whose names say that they collect (HotSpot's and .NET's) had in the CPU time of process `pid`, in the last 20 s of the trace:
 * 0 .. 1. NaN: it has no such threads, or hardly ran. Runtimes that collect in threads of all sorts (Go, V8, Python) are not known. */
double collector_share(const struct trace *t, uint32_t pid);
