/* How much memory the reading of one input may take.
 *
 * A file that others wrote can claim millions of anything in a few bytes: what is packed unpacks to a thousand times its size, and an
 * empty row becomes a struct. So the bytes that are read buy memory: BUDGET_LEAST for any input, and BUDGET_TIMES each byte. Readers
 * take from the budget before they allocate. Recordings of machines take up to 21 times what was read of them (bench/make-recording, 4 to 3,000
 * processes).
 *
 * Several threads may take from one budget. NULL is a budget without a bound, for what this process made itself.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BUDGET_LEAST ((uint64_t)64 << 20)
#define BUDGET_TIMES 128

struct memory_budget {
	uint64_t most;	       /* bytes of memory, whatever was read; 0 = what the bytes buy */
	_Atomic uint64_t fed;  /* bytes of input that were read */
	_Atomic uint64_t used; /* bytes of memory */
	_Atomic bool exceeded;
};

/* So many more bytes of the input were read. */
void memory_budget_feed(struct memory_budget *b, uint64_t bytes);
/* Memory for n things of so many bytes. 0, or -ENOMEM: the caller fails as if malloc() had. */
int memory_budget_take(struct memory_budget *b, uint64_t n, uint64_t each);
/* Memory that was taken is free again. */
void memory_budget_give(struct memory_budget *b, uint64_t n, uint64_t each);
/* A reader's result: -EDQUOT in place of -ENOMEM where it was the budget that had no more. str_error() has words for both. */
int memory_budget_result(const struct memory_budget *b, int r);

/* Bounds the private memory of this process, and of those that it starts, for one question, whatever it reads: half of the machine's, and
 * at least 256 MiB (RLIMIT_DATA). A lower bound that it already has stays. Allocations beyond it fail, and str_error() then says why. */
void memory_budget_bound_question(void);
/* For a process that answers one question and ends: memory that one step of the answer frees is not given back to the system, as the next
 * step takes it again, and page faults would be half of the time of a large analysis. */
void memory_budget_keep_freed(void);
