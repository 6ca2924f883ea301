/* The part of a threads view that is visible: rows (rows.h) as runs (detail.h), CPUs above them, a critical path. */
#pragma once

#include "machine/threads/rows.h"

struct draw_question {
	int64_t from, to;
	uint32_t points;
	size_t first, count; /* which rows */
	uint32_t chosen;     /* the process whose use of CPUs is distinguished; 0 = none */
	uint32_t path;	     /* whose critical path; NOBODY = none */
};

/* `rows` are of the same timeline. The caller frees with drawing_free(). 0 or -ENOMEM. */
int draw_timeline(const struct timeline *t, const struct thread_rows *rows, const struct draw_question *q, struct drawing *ret);

/* What the thread was doing then; `ret->interval` belongs to the timeline. The caller frees with instant_free(). 0, -ENOMEM,
 * -ENODATA where nothing is known of it at that time. */
int draw_instant(const struct timeline *t, uint32_t thread, int64_t at, struct instant *ret);
