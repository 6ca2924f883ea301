/* Each wait charged to the one that was in contention (machine/events/blame.h says what comes out).
 *
 * Run queue: the segments of the CPU the victim was queued on. Locks, pipes, children: the walk (wait-walk.h), then the
 * rule of the state in which the last of the chain was. Disk: blame-disk.c. Memory: those who freed memory in the second
 * before, by pages (modelled): only who allocates must free.
 */
#pragma once

#include "machine/events/blame.h"

/* 48 bytes each. Where thousands of threads wait in one queue there are as many cells as pairs of them. From so many cells on, culprits
 * are no longer distinguished by thread, then no longer by process (BLAME_COARSE), and then each victim keeps its largest cells, and the
 * others become one for each kind of wait (BY_OTHERS). No time is lost. */
#define BLAME_CELLS_MAX	   (256u << 10)
#define BLAME_LARGEST	   32	      /* cells of one victim, then */
#define BLAME_BATCH	   (64u << 10) /* cells that blame_each() has at a time */

/* The matrix of [from, to) at a level (not sorted yet), of n threads as victims (NULL: of all). The caller frees. 0 or -ENOMEM;
 * -ERANGE for an empty window; -EBADE when charges and waits differ by as much as a nanosecond, which is a bug. */
int blame_build(const struct timeline *t, int64_t from, int64_t to, const uint32_t *victims, size_t n, enum blame_level level,
		struct blame_matrix *ret);
/* The same cells of all threads as victims, at the level of threads, handed over one after the other and not kept. 0, or as
 * blame_build(), or what `take` returns below 0. */
typedef int (*blame_take)(void *user, const struct blame_cell *cell);
int blame_each(const struct timeline *t, int64_t from, int64_t to, blame_take take, void *user);
/* Adds another part of the same wait to a cell. */
void blame_cell_join(struct blame_cell *cell, const struct blame_cell *part);
/* One cell for what one culprit did to several victims in the same way; its victim is one of them. In no order. */
void blame_join_victims(struct blame_matrix *m);
/* The same for a matrix that is not sorted: each victim keeps its `most` largest cells. A program that starts thousands of others waits for each
 * of them. */
void blame_keep_largest(struct blame_matrix *m, size_t most);
/* The longest first. */
void blame_sort(struct blame_matrix *m);
/* Waits for locks of one holder together, the longest sum first: while a holder is kept from a CPU itself, its lock is held all the same, and
 * a crowd of others must not hide who held it. Within them the holder's own part is first, then the longest. 0 or -ENOMEM. */
int blame_sort_by_holder(struct blame_matrix *m);
