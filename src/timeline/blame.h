/* Each wait charged to whoever was in the way (model/blame.h says what comes out).
 *
 * Run queue: the segments of the CPU the victim was queued on. Locks, pipes, children: the walk (wait-walk.h), then the
 * rule of the state in which the last of the chain was. Disk: blame-disk.c. Memory: those who freed memory in the second
 * before, by pages (modelled): only who allocates must free.
 */
#pragma once

#include "model/blame.h"

/* 48 bytes each. Where thousands of threads wait in one queue it has as many cells as there are pairs of them. */
#define BLAME_CELLS_MAX (8u << 20)

/* The matrix of [from, to) at a level (not sorted yet), of n threads as victims (NULL: of all). The caller frees. 0 or -ENOMEM;
 * -E2BIG where it would have more than BLAME_CELLS_MAX cells (ask for fewer victims, a shorter window or a higher level);
 * -ERANGE for an empty window; -EBADE when charges and waits differ by as much as a nanosecond, which is a bug. */
int blame_build(const struct timeline *t, int64_t from, int64_t to, const uint32_t *victims, size_t n, enum blame_level level,
		struct blame_matrix *ret);
/* The longest first. */
void blame_sort(struct blame_matrix *m);
