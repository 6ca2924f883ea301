/* What only the recorded machine can tell of a trace's stacks, at the freeze: names of kernel code, and which file, build
 * and offset an address of a process lies in (named later, anywhere). Bounded: processes that have ended have no maps. */
#pragma once

#include "model/trace.h"

struct kernel_symbols;

/* Adds symbols, modules and mappings; *kernel is read once and kept (kernel_symbols_free()). 0 or -ENOMEM. */
int capture_symbols(struct trace *t, struct kernel_symbols **kernel);
