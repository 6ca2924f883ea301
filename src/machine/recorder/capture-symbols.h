/* What only the recorded machine can tell of a trace's stacks, at the freeze: names of kernel code, and which file, build
 * and offset an address of a process lies in (named later, anywhere). Bounded: processes that have ended have no maps. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "machine/events/trace.h"

struct helper;
struct identifier;
struct kernel_symbols;
struct modules;

/* Names of kernel code that threads share: read when the first one asks, 5 MB. */
struct kernel_names {
	pthread_mutex_t lock;
	bool tried;
	struct kernel_symbols *symbols;
};
/* NULL where the kernel does not show them. What it returns lives as long as `k`. */
const struct kernel_symbols *kernel_names_get(struct kernel_names *k);

/* Reads what code processes have mapped, with build-ids. */
struct module_reader {
	const char *proc_root;
	struct helper *helper; /* for a bounded time each, in its thread; NULL = in this thread */
	struct identifier *identifier;
};
/* 0; -ESRCH: its addresses stay numbers; -ENOMEM. */
int module_reader_read(struct module_reader *r, uint32_t pid, struct modules *ret);

/* Adds symbols, modules and mappings; *kernel is read once and kept (kernel_symbols_free()). Processes are read in the helper's thread, for a
 * bounded time each: the addresses of one that blocks it stay numbers. NULL: in this thread, for any time. `proc_root`: "/proc", or a test's,
 * which outlives the helper's threads. 0 or -ENOMEM. */
int capture_symbols(struct trace *t, const char *proc_root, struct kernel_symbols **kernel, struct helper *helper);
