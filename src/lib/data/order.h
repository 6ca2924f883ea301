/* Orders for qsort(), bsearch() and what calls back likewise.
 *
 *   ORDER(by_cost, struct item, DESCENDING(cost) ?: ASCENDING(name.n) ?: strcmp(a->text, b->text))
 *   VEC_SORT(items, by_cost);
 */
#pragma once

#include <stdlib.h>

/* -1, 0 or 1; of what cannot be compared (NaN) 0. */
#define CMP(x, y) (((x) > (y)) - ((x) < (y)))

/* By a field of what `a` and `b` point to. */
#define ASCENDING(field)  CMP(a->field, b->field)
#define DESCENDING(field) CMP(b->field, a->field)

/* A function that compares two elements of a type; `order` is an expression of the pointers `a` and `b` to them. */
#define ORDER(name, type, order)                                \
	static int name(const void *left_, const void *right_)  \
	{                                                       \
		const type *a = left_, *b = right_;             \
                                                                \
		return order;                                   \
	}

/* The same, of arrays of pointers. */
#define ORDER_OF_POINTERS(name, type, order)                                            \
	static int name(const void *left_, const void *right_)                          \
	{                                                                               \
		const type *a = *(const type *const *)left_, *b = *(const type *const *)right_; \
                                                                                        \
		return order;                                                           \
	}

/* For qsort_r(), whose last argument is `context` in the expression. */
#define ORDER_IN(name, type, context_type, order)                                    \
	static int name(const void *left_, const void *right_, void *context_)       \
	{                                                                            \
		const type *a = left_, *b = right_;                                  \
		const context_type *context = context_;                              \
                                                                                     \
		return order;                                                        \
	}

/* qsort() takes no NULL, which an empty VEC() is. */
#define VEC_SORT(vec, by)                                                        \
	do {                                                                     \
		if ((vec).n)                                                     \
			qsort((vec).v, (vec).n, sizeof((vec).v[0]), (by));       \
	} while (0)
