/* The flight recorder where BPF is not available: a trace instance of the kernel's own, which overwrites the oldest, turned into the
 * same events.
 *
 * It costs more and tells less (tracefs_missing()). Its records are taken out of the kernel by reading; what a freeze has read is
 * kept, as far as half the memory goes, for the next one: recording never stops.
 *
 * The instance is a folder below /sys/kernel/tracing/instances with the owner's name in it. It outlives a recorder that is killed;
 * the one that opens the next one removes those whose owner is gone.
 */
#pragma once

#include <stdint.h>

#include "machine/events/trace.h"

struct tracefs;

struct tracefs_options {
	uint64_t bytes;	     /* of the kernel's buffers and of what is kept, together */
	const char *tracing; /* NULL = /sys/kernel/tracing, which is mounted if it is not */
};

/* 0, or -errno with *ret_why in words (static). */
int tracefs_open(const struct tracefs_options *options, struct tracefs **ret, const char **ret_why);
void tracefs_close(struct tracefs *f);
/* As ring_freeze_since(). */
int tracefs_freeze_since(struct tracefs *f, uint64_t since, struct trace *ret);
/* Removes instances whose owners are gone; how many. */
int tracefs_sweep(const char *tracing);
/* What it cannot tell, a line each; for `doctor` and answers. Belongs to the caller. NULL without memory. `f` may be NULL: what no
 * kernel tells this way. */
char *tracefs_missing(const struct tracefs *f);
