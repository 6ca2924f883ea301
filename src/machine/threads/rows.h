/* The rows of a threads view: threads grouped by process, filtered, the worst first. */
#pragma once

#include "machine/events/drawing.h"

enum row_order { ORDER_WAITED, ORDER_RAN, ORDER_NAME, ORDER_PID, ROW_ORDERS };
extern const char *const row_order_names[ROW_ORDERS]; /* "waited" ... */

struct row_question {
	int64_t from, to;	/* whose waiting decides the order */
	enum row_order order;
	uint32_t only;		/* the threads of this process, or the thread of this number; 0 = all */
	const char *filter;	/* part of a name or unit, or a PID; NULL = all */
	const char *hidden;	/* the same for those that are left out, with commas between them; NULL = none */
	const uint32_t *first;	/* threads that come before all others, in this order: a critical path's */
	size_t n_first;
	const uint32_t *folded; /* processes (tgid; 0 = the kernel's threads) of which only the group's row is wanted */
	size_t n_folded;
};

struct thread_rows {
	VEC(struct thread_row) rows;
	VEC(uint32_t) threads; /* all that pass the filter; a folded group's one after the other, in the order of the rows */
};

/* The caller frees with rows_free(). 0 or -ENOMEM. */
int rows_build(const struct timeline *t, const struct row_question *q, struct thread_rows *ret);
void rows_free(struct thread_rows *r);
