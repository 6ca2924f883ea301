/* Copies from the memory of another process, which its user makes as it pleases: a page may be one of a file whose server (FUSE) never answers, and no
 * signal ends that wait. So a process without rights reads (lib/rights/sandbox.h), and such files are not asked for. Between the look and the
 * copy that may change: who does not answer is left behind, and nothing more is read for this question. process_memory_keep_count() bounds
 * how many are left at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/data/vec.h"
#include "lib/rights/sandbox.h"

#define PROCESS_MEMORY_LEFT_MAX 64 /* that are left behind at a time, or read, for all questions of one recorder */
#define PROCESS_MEMORY_PIECE	(SANDBOX_MESSAGE_MAX / 2) /* bytes of one copy */

struct memory_part {
	unsigned long long from, to;
	bool may_be_read; /* without waiting for another user */
};

/* Begins with all zero; for one thread at a time. */
struct process_memory {
	unsigned pid; /* of the last process; the next two are of it */
	int memory;
	VEC(struct memory_part) parts; /* by address */
	struct sandbox reader;
	bool started, given_up;
	int place; /* of those PROCESS_MEMORY_LEFT_MAX, once it has started; -1 = they are not counted */
};

/* In the process whose children answer, before it has any: they share the count. Without it nothing is counted. */
void process_memory_keep_count(void);
/* True: all n bytes (at most PROCESS_MEMORY_PIECE) are in buf. False: they are not there, not to be read, or did not come in time. */
bool process_memory_read(struct process_memory *m, const char *proc_root, unsigned pid, unsigned long long address, void *buf, size_t n);
/* The same of memory that was just seen to belong to no file. */
bool process_memory_copy(struct process_memory *m, const char *proc_root, unsigned pid, unsigned long long address, void *buf, size_t n);
void process_memory_free(struct process_memory *m);
