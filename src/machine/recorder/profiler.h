/* Continuous profiles: a thread of the recorder takes what the kernel added up by process and stack (machine/flight/ring.h), says which
 * program and which place in which file each address is, as long as the process lives, and appends it to the kept profiles once a minute
 * (machine/trace/profile-file.h). Functions are named when a profile is read.
 *
 * Nothing is written while the machine idles. What is kept of a minute are its ROWS_MAX heaviest stacks; the others count for their program. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kernel_names;
struct profiler;
struct ring;

struct profiler_options {
	struct ring *ring;
	struct kernel_names *kernel;
	const char *store_file; /* profiles lie next to it */
	int64_t max_age;	/* ns; 0 = for ever */
	uint64_t max_bytes;	/* of all profiles; 0 = without limit */
};

int profiler_start(const struct profiler_options *options, struct profiler **ret);
/* At every tick; does not wait. NULL is allowed. */
void profiler_tick(struct profiler *p, bool busy);
/* Saves what there is. NULL is allowed. */
void profiler_stop(struct profiler *p);
/* The profiles' share of a recording's size. */
uint64_t profiler_share(uint64_t store_max_size);
