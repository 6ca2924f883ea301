/* Why one program is slow: what it waits for beyond its baseline, and for whom. What `why WHO` finds and its views show. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/vec.h"
#include "machine/events/blame.h"
#include "machine/events/wait-chain.h"
#include "machine/model/feature.h"

/* One kind of wait, as the recording has it; ns of waiting per second, all threads together. Or of what it does itself, or its children do. */
struct program_wait {
	const struct feature *feature;
	const char *words; /* "locks"; "computes", "has children that wait for disks" */
	double now;	   /* the mean of the last ticks */
	double p50, p90;   /* of the ticks before; NaN = there are none */
	bool unusual;
};

/* Where the culprit of a cell spent the window: the functions of its heaviest stack, outermost first. */
#define HELD_IN_MAX 8 /* functions: the innermost ones */
#define HELD_IN_CALL SIZE_MAX
struct held_in {
	size_t cell; /* index into by_process.cells; HELD_IN_CALL: of the threads that handled the call */
	char *functions[HELD_IN_MAX];
	size_t n;
};

struct program_waits {
	char *name;		/* as the recording has it, or as asked */
	int64_t at;		/* wall ns */
	VEC(unsigned) pids;	/* those that are there */
	VEC(struct program_wait) waits; /* none: nothing is recorded of it */
	VEC(struct program_wait) work;	/* no waits of its own, which make it slow nevertheless: ns, or a number, per second */
	struct wait_chain chain;	/* of now; empty of another time */
	int64_t waited, normally;	/* ns: its first thread has waited so long, and never longer than that before; 0 = no longer than ever */
	/* By events, where there are any: */
	char *server;			   /* whose answers are later than ever; NULL = none are */
	uint32_t server_pid;
	int64_t answer_took, answer_normally; /* ns: the slowest lately, and before */
	const struct timeline *timeline; /* NULL = there are none */
	bool past;			 /* of a window before `at`, not of the last moments */
	struct blame_matrix by_process;	 /* its threads are the victims; as blame_sort_by_holder() */
	bool call;			 /* the window is that of a call, and the victims are the threads that handled it */
	int64_t ran;			 /* ns that those had a CPU in the call */
	double sent_again;		 /* share of the TCP segments that the machine sent in a window that was given; 0 = none, or hardly any */
	VEC(struct held_in) held_in;	 /* of the first cells, as many as have a culprit whose stacks are known */
};

void program_waits_free(struct program_waits *p);
