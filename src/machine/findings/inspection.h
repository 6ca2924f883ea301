/* The findings of an inspection of one process: what answers say and views show. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/tree.h"
#include "lib/data/vec.h"
#include "machine/events/capture.h"

/* An instruction, or a place of waiting. Constant texts belong to the one that made the inspection. */
struct inspected_place {
	const char *function; /* "spin"; "stress+0x11d0", where the function begins, if it has no name */
	const char *place;    /* "stress+0x11e4" */
	const char *file;     /* source; NULL = not known */
	uint32_t line;
	uint64_t count;
};

struct inspected_places {
	struct inspected_place *v;
	size_t n, allocated;
};

struct inspected_thread {
	uint32_t tid;
	char comm[16];
	uint64_t start_ns;	       /* CLOCK_BOOTTIME */
	int64_t first_seen, last_seen; /* boot ns */
	bool came, went;	       /* while it was looked at */
	uint64_t last_look;	       /* which of the looks saw it last */
	uint64_t cpu_first, cpu_last;  /* ns */
	uint64_t ready_first, ready_last;
	/* Shares of the whole time, exact: on a CPU, and ready but without one. NaN = seen only by samples.
	 * Looks cannot tell the two apart: the one that looks takes a CPU from something. */
	double cpu, ready;
	uint64_t looks, states[CAPTURE_STATE_COUNT], samples;
	const char *begins,
		*begins_at; /* its start routine: name, and place; NULL = no complete call chain was seen */
	struct inspected_places instructions; /* by count */
	struct inspected_places functions;    /* by count; place: of the function's beginning */
	struct inspected_places waits;	      /* by count; function: what for, place: where in the program */
};

struct inspected_file {
	char *path; /* NULL = not open any more */
	uint64_t read_bytes, written_bytes, read_calls, write_calls;
};

/* Mappings of one file, or of one sort of other memory, in bytes. */
struct inspected_memory {
	char *name; /* of the file; "[heap]", "[stack]", "anonymous" ... */
	unsigned mappings;
	uint64_t size, resident, anonymous, swapped;
};

struct inspection {
	uint32_t pid;
	uint32_t phase; /* of the incident it was made for, from 1; 0 = none */
	char *exe, *cmdline, *unit, *container, *package, *version;
	VEC(char *) limits; /* "memory: 512 MB of its control group" */
	int64_t span;	    /* ns looked at */
	uint64_t looks, samples, lost;
	unsigned cpus;
	double cpu;			      /* of all threads, in CPUs */
	VEC(struct inspected_thread) threads; /* by CPU */
	struct path_tree top_down, bottom_up; /* samples on a CPU */
	struct path_tree
		waits; /* looks at waiting threads: what for, then who called, from where it waits outwards */
	VEC(struct inspected_file) files;
	VEC(struct inspected_memory) memory; /* where it was asked for: the largest first, the last may be all others */
	/* By the flight recorder: how each thread spent its time, before and while it was looked at, and who was in contention with it;
	 * for people, and as JSON. NULL = none ran. */
	char *recorded, *recorded_json;
	VEC(char *) missing; /* what was not seen, and what would fix it */
	VEC(char *) remarks; /* what the reader must know */
	char *summary;
};

void inspection_free(struct inspection *n);
