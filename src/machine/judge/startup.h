/* A program that has just begun, against its earlier starts at the same age.
 *
 * Starting is heavy for nearly every program: code is paged in, caches are filled. Against blocks of an ordinary hour
 * that is an excess; against the same seconds of its earlier starts it is usual, or it is not. A *start* is the moment
 * from which on some process of the program is there after none was; its age counts from there. Only starts that
 * were recorded count: of what was running before the recording nobody knows the age.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/model/dataset.h"

#define STARTUP_LAST	(600 * NS_PER_SEC) /* older than that at its beginning, a trouble is not about a start */
#define STARTUP_EARLIER 32		   /* the newest of the earlier starts are compared with */

struct startup {
	uint32_t start;	  /* tick of the present start */
	int64_t from, to; /* ages compared, ns: those of the trouble */
	uint32_t n;	  /* earlier starts; 0 = nothing to compare with */
	struct earlier_start {
		const struct subject *const *members; /* of the program that started: the caller's */
		size_t n_members;
		uint32_t start;	   /* tick */
		uint32_t from, to; /* ticks in which it had these ages */
	} earlier[STARTUP_EARLIER];
};

/* What may be learnt from: ticks [from, to] without those excluded (one per tick; may be NULL). */
struct startup_past {
	uint32_t from;
	int64_t to;
	const bool *excluded;
};

/* The start that the trouble [focus, at] is about, of a program with these processes (in any order). False, and *ret
 * untouched, where it is about none: the program was there long before it, or came and went in it. */
bool startup_find(const struct dataset *d, const struct subject *const *members, size_t n, uint32_t focus, uint32_t at,
		  struct startup *ret);
/* Lists the starts of a program in the past that had these ages there, the newest first. */
void startup_add_earlier(const struct dataset *d, const struct subject *const *members, size_t n,
			 const struct startup_past *past, struct startup *s);

/* What an earlier start had of a feature at these ages, all its processes together: of a counter the growth per second
 * of `seconds`, of a gauge the level at the end. NaN where it was not measured. */
double startup_value(const struct dataset *d, const struct earlier_start *e, size_t feature, double seconds);
