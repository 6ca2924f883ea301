/* What only the recorded machine can tell of a trace's stacks, at the freeze: names of kernel code, and which file, build
 * and offset an address of a process lies in (named later, anywhere). Bounded: processes that have ended have no maps. */
#pragma once

#include "model/event/trace.h"

struct helper;
struct kernel_symbols;

/* Adds symbols, modules and mappings; *kernel is read once and kept (kernel_symbols_free()). Processes are read in the helper's thread, for a
 * bounded time each: the addresses of one that blocks it stay numbers. NULL: in this thread, for any time. `proc_root`: "/proc", or a test's,
 * which outlives the helper's threads. 0 or -ENOMEM. */
int capture_symbols(struct trace *t, const char *proc_root, struct kernel_symbols **kernel, struct helper *helper);
