/* How long each process waited and ran since the last look, from the flight recorder's sums in the kernel. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/vec.h"
#include "machine/flight/ring.h"

struct process_waits {
	uint32_t pid, parent;
	char name[RING_COMM + 1];
	bool kernel;
	bool young;	 /* began after wait_sums_open() */
	uint64_t waited; /* ns of all its threads: for a CPU, a disk, memory. Not for locks, by which idle
			    threads wait for work, too */
	uint64_t ran;	 /* ns */
};

struct process_waits_list {
	VEC(struct process_waits) list;
};

struct wait_sums;
/* The ring stays the caller's. 0 or -ENOMEM. */
int wait_sums_open(struct ring *ring, struct wait_sums **ret);
void wait_sums_close(struct wait_sums *w);
/* Growth since the look before (the first one gives nothing) of all processes that are there, in the order of
 * the kernel, and of those that ended; the span it happened in, ns. The list is emptied first. 0 or -errno.
 */
int wait_sums_look(struct wait_sums *w, struct process_waits_list *ret, int64_t *ret_span);
