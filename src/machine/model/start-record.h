/* The traces of its last start that a machine keeps by itself, for when nothing recorded it: systemd's unit times, gaps in the kernel's log, and when
 * the processes that still live began. Times are ns since the kernel began (CLOCK_BOOTTIME); 0 = not known. */
#pragma once

#include <stdint.h>

#include "lib/data/vec.h"

struct start_unit {
	char *name;
	int64_t began, active; /* left "inactive", and reached "active" */
	char *after;	       /* names of the units that it waited for, between blanks */
};

struct start_gap {
	int64_t from, to;
	char *before, *next; /* the messages around it */
};

struct start_process {
	unsigned pid;
	char *name;
	int64_t began;
	int64_t cpu; /* ns since it began */
};

struct start_record {
	int64_t firmware, loader; /* ns before the kernel began that the firmware, then the boot loader took over */
	int64_t initrd, userspace, finished;
	VEC(struct start_unit) units;
	VEC(struct start_gap) gaps; /* of the kernel's log, by time */
	VEC(struct start_process) processes; /* by when they began */
};

void start_record_free(struct start_record *r);
