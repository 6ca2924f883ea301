/* A typed growing array.
 *
 *   struct { VEC(struct span) spans; } x = {};
 *   if (VEC_PUSH(x.spans, span) < 0) return -ENOMEM;
 *   VEC_EACH(s, x.spans) use(s);
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define VEC(type)                  \
	struct {                   \
		type *v;           \
		size_t n, allocated; \
	}

/* Makes room for one more element; 0 or -ENOMEM. */
#define VEC_GROW(vec)                                                                        \
	({                                                                                   \
		int grow_ = 0;                                                               \
		if ((vec).n == (vec).allocated) {                                            \
			size_t want_ = (vec).allocated ? 2 * (vec).allocated : 8;            \
			void *grown_ = reallocarray((vec).v, want_, sizeof((vec).v[0]));     \
			if (grown_) {                                                        \
				(vec).v = grown_;                                            \
				(vec).allocated = want_;                                     \
			} else {                                                             \
				grow_ = -ENOMEM;                                             \
			}                                                                    \
		}                                                                            \
		grow_;                                                                       \
	})

/* Makes room for `most` elements in all, where it is known before how many come. 0 or -ENOMEM. */
#define VEC_RESERVE(vec, most)                                                               \
	({                                                                                   \
		size_t most_ = (most);                                                       \
		void *room_ = most_ > (vec).allocated ? reallocarray((vec).v, most_, sizeof((vec).v[0])) : NULL; \
		if (room_) {                                                                 \
			(vec).v = room_;                                                     \
			(vec).allocated = most_;                                             \
		}                                                                            \
		most_ > (vec).allocated ? -ENOMEM : 0;                                       \
	})

#define VEC_PUSH(vec, ...)                                       \
	({                                                       \
		int push_ = VEC_GROW(vec);                       \
		if (push_ == 0)                                  \
			(vec).v[(vec).n++] = (__VA_ARGS__);      \
		push_;                                           \
	})

/* The same of what owns `memory`, which is freed where there is no room. -ENOMEM also where it is NULL. */
#define VEC_PUSH_OWNER(vec, memory, ...)                                             \
	({                                                                           \
		void *owned_ = (memory);                                             \
		int owner_ = owned_ ? VEC_PUSH(vec, __VA_ARGS__) : -ENOMEM;          \
		if (owner_ < 0)                                                      \
			free(owned_);                                                \
		owner_;                                                              \
	})

/* Adds a text, as printf() makes it, to a VEC(char *). 0 or -ENOMEM. */
#define VEC_PRINT(vec, ...)                                                                         \
	({                                                                                          \
		char *printed_;                                                                     \
		asprintf(&printed_, __VA_ARGS__) < 0 ? -ENOMEM : VEC_PUSH_OWNER(vec, printed_, printed_); \
	})

/* Whether `holds`, an expression of i, does for one of 0 .. n-1. */
#define ANY_WHERE(i, n, holds)                                                   \
	({                                                                       \
		bool any_ = false;                                               \
		for (__typeof__((n) + 0) i = 0; i < (n) && !any_; i++)           \
			any_ = (holds);                                          \
		any_;                                                            \
	})

/* The first `i` of 0 .. n-1, in order, for which `holds` (an expression of i) does, where it holds of all that follow, too; n when
 * of none:
 *
 *   size_t at = FIRST_WHERE(i, t->n_events, t->events[i].time >= time);
 */
#define FIRST_WHERE(i, n, holds)                             \
	({                                                   \
		size_t low_ = 0, high_ = (n);                \
		while (low_ < high_) {                       \
			size_t i = low_ + (high_ - low_) / 2; \
			if (holds)                           \
				high_ = i;                   \
			else                                 \
				low_ = i + 1;                \
		}                                            \
		low_;                                        \
	})

/* A loop over the elements; `x` points to one. None may be added within it. */
#define VEC_EACH(x, vec) for (__typeof__((vec).v[0]) *x = (vec).v; x && x < (vec).v + (vec).n; x++)

/* The first element for which an expression of the pointer `x` to it holds; NULL when for none. */
#define VEC_FIND(x, vec, holds)                                                  \
	({                                                                       \
		__typeof__((vec).v[0]) *found_ = NULL;                           \
		VEC_EACH(x, vec)                                                 \
			if (holds) {                                             \
				found_ = x;                                      \
				break;                                           \
			}                                                        \
		found_;                                                          \
	})

/* Gives back what a rare moment took: the memory of an empty array with room for more than `most` elements. */
#define VEC_GIVE_BACK(vec, most)                           \
	do {                                               \
		if (!(vec).n && (vec).allocated > (most)) \
			VEC_FREE(vec);                     \
	} while (0)

#define VEC_FREE(vec)                           \
	do {                                    \
		free((vec).v);                  \
		(vec).v = NULL;                 \
		(vec).n = (vec).allocated = 0;  \
	} while (0)

/* Frees a list at the end of its scope, by lib/data/cleanup.h: its elements are the first member. */
#define _cleanup_vec_ _cleanup_(cleanup_pointer)

/* With what its elements own: `release` is a statement about `each`, a pointer to one. */
#define VEC_FREE_EACH(vec, release)                                                     \
	do {                                                                            \
		for (size_t i_ = 0; i_ < (vec).n; i_++) {                               \
			__typeof__((vec).v) each = &(vec).v[i_];                        \
			release;                                                        \
		}                                                                       \
		VEC_FREE(vec);                                                          \
	} while (0)
