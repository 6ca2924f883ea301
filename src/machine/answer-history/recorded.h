/* A machine's recording as a server's counters: what the fleet sees of it. Levels, and rates per second, of the machine, its
 * disks, file systems, interfaces and sensors ("disk.io_time[vda]"); of processes nothing. */
#pragma once

#include "lib/data/vec.h"
#include "machine/recording/store.h"

struct recorded_counter {
	char *name;
	char *unit; /* "ns/s" for rates */
	const char *help;
	double *values; /* one for each time; NaN = not measured */
};

struct recorded {
	VEC(int64_t) times; /* wall ns */
	VEC(struct recorded_counter) counters;
};

/* Covers [from, to) (wall ns). 0 or -errno; an empty recording has no times. */
int recorded_read(struct store *s, int64_t from, int64_t to, struct recorded *ret);
void recorded_free(struct recorded *r);
