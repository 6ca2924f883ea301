/* When a span of a table began and ended.
 *
 * A column whose name tells its unit (..._us, ...Nano, ...Ms) has it; other times are seconds, ms, us or ns by the number of their
 * digits, or text (2026-11-20T14:32:07.123Z). A duration without a unit has that of the start (ns next to text, ms without one),
 * unless calls then began after their callers' ends: see span_times_guess().
 */
#pragma once

#include "spans/formats/span-columns.h"
#include "spans/model/span.h"

/* One row of a table's beginning, as span_times_read() has it. */
struct timed_row {
	uint64_t trace, id, parent; /* parent 0 = a root */
	int64_t start, duration;    /* ns */
};

/* Does the table leave the duration's unit to be guessed? */
bool span_times_unsure(const struct span_columns *c);
/* "2026-11-20 ..." */
bool span_time_is_text(const struct text_field *f);
/* A number that is not negative, with or without a fraction, in `unit` ns, exactly. False: it is none, or too great. */
bool span_time_number(const struct text_field *f, int64_t unit, int64_t *ret);
/* The unit, ns, in which this row's duration is read. */
int64_t span_times_unit(const struct span_columns *c, const struct text_field *fields);
/* Start and end, and SPAN_NO_START. False: they are not a span of time. */
bool span_times_read(const struct span_columns *c, const struct text_field *fields, struct span *span);
/* The unit of durations that were read in `unit`, ns: the least one (`unit` or a greater) with which nine in ten calls begin while their
 * callers run. A smaller one than `unit` where that makes callers last a hundred times as long as it is until their calls begin, and nine in
 * ten calls also end while their callers run with the smaller one. Where the rows do not tell (no calls, or starts too coarse), `unit` next to
 * numbers; next to text (`of_text`), whose unit is not a hint, what makes the median call take some ms. 0 = out of memory. */
int64_t span_times_guess(const struct timed_row *rows, size_t n, int64_t unit, bool of_text);
