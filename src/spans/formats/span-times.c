#include "spans/formats/span-times.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/order.h"
#include "lib/data/vec.h"
#include "lib/input/timestamp.h"

#define CALLS_LEAST 5	  /* that begin later than their callers: fewer tell nothing */
#define CALLS_INSIDE .9
#define CALLER_LONG 100
#define NS_LEAST    100000 /* a median of more than that is of ns, */
#define US_LEAST    2000   /* of us */

#define EACH(byte) (0x0101010101010101ull * (byte))

/* Eight decimal digits at once (little-endian): pairs, then fours, then all of them are put together. */
static bool eight_digits(const char *text, uint64_t *ret)
{
	uint64_t v;

	memcpy(&v, text, 8);
	if (((v & EACH(0xf0)) | ((v + EACH(0x06)) & EACH(0xf0)) >> 4) != EACH(0x33))
		return false;
	v = (v & EACH(0x0f)) * (10 << 8 | 1) >> 8;
	v = (v & 0x00ff00ff00ff00ffull) * (100 << 16 | 1) >> 16;
	*ret = (v & 0x0000ffff0000ffffull) * (10000ull << 32 | 1) >> 32;
	return true;
}

static bool parse_digits(const struct text_field *f, int64_t *ret)
{
	uint64_t value = 0, eight;
	size_t i = 0;

	if (!f->n || f->n > 19)
		return false;
	for (; f->n - i >= 8; i += 8) {
		if (!eight_digits(f->at + i, &eight))
			return false;
		value = value * 100000000 + eight;
	}
	for (; i < f->n; i++) {
		unsigned digit = (unsigned)(uint8_t)f->at[i] - '0';

		if (digit > 9)
			return false;
		value = value * 10 + digit;
	}
	*ret = (int64_t)value;
	return value <= INT64_MAX;
}

static int64_t unit_by_size(int64_t value)
{
	return value > 100000000000000000 ? 1 : value > 100000000000000 ? 1000 : value > 100000000000 ? 1000000 : 1000000000;
}

/* "1661140799.607158", exactly: a double has no room for ns since 1970. */
static bool parse_fraction(const struct text_field *f, int64_t *unit, int64_t *ret)
{
	const char *point = memchr(f->at, '.', f->n);
	struct text_field whole, part;
	int64_t fraction, scale = 1;

	if (!point)
		return false;
	whole = (struct text_field){f->at, (size_t)(point - f->at)};
	part = (struct text_field){point + 1, f->n - whole.n - 1};
	if (part.n > 18 || !parse_digits(&whole, ret) || !parse_digits(&part, &fraction))
		return false;
	for (size_t i = 0; i < part.n; i++)
		scale *= 10;
	*unit = *unit ? *unit : unit_by_size(*ret);
	fraction = (int64_t)((__int128)fraction * *unit / scale);
	return !__builtin_mul_overflow(*ret, *unit, ret) && !__builtin_add_overflow(*ret, fraction, ret);
}

/* "1.661e18" */
static bool parse_decimal(const struct text_field *f, double *ret)
{
	char text[40], *end;

	if (!f->n || f->n >= sizeof(text))
		return false;
	memcpy(text, f->at, f->n);
	text[f->n] = '\0';
	*ret = strtod(text, &end);
	return !*end && *ret >= 0 && *ret < 9e18;
}

/* *unit is the column's, or 0: what the value's size tells. */
static bool scaled(const struct text_field *f, int64_t *unit, int64_t *ret)
{
	double value;

	if (parse_digits(f, ret)) {
		*unit = *unit ? *unit : unit_by_size(*ret);
		return !__builtin_mul_overflow(*ret, *unit, ret);
	}
	if (parse_fraction(f, unit, ret))
		return true;
	if (!parse_decimal(f, &value))
		return false;
	*unit = *unit ? *unit : unit_by_size((int64_t)value);
	value *= (double)*unit;
	if (value >= 9e18)
		return false;
	*ret = (int64_t)(value + 0.5);
	return true;
}

bool span_time_number(const struct text_field *f, int64_t unit, int64_t *ret)
{
	return scaled(f, &unit, ret);
}

bool span_time_is_text(const struct text_field *f)
{
	return f->n >= 10 && (f->at[4] == '-' || f->at[4] == '/');
}

/* *unit is the column's, or becomes what the value's size tells. */
static bool parse_moment(const struct text_field *f, int64_t *unit, int64_t *ret)
{
	if (!span_time_is_text(f))
		return scaled(f, unit, ret);
	*unit = 1;
	return timestamp_parse(f->at, f->at + f->n, ret) == 0 && *ret >= 0;
}

/* Of the start, or the end, which this gives as well. */
static bool read_moment(const struct span_columns *c, const struct text_field *fields, enum span_field field, int64_t *unit, int64_t *ret)
{
	int column = c->of_field[field];

	*unit = column >= 0 ? c->unit[column] : 0;
	return column < 0 || parse_moment(&fields[column], unit, ret);
}

bool span_times_unsure(const struct span_columns *c)
{
	int length = c->of_field[FIELD_DURATION];

	return length >= 0 && !c->unit[length] && (c->of_field[FIELD_START] < 0 || c->of_field[FIELD_END] < 0);
}

static int64_t duration_unit(const struct span_columns *c, int64_t start_unit, int64_t end_unit)
{
	int length = c->of_field[FIELD_DURATION];
	int64_t own = length >= 0 ? c->unit[length] : 0;

	return own ? own : start_unit ? start_unit : end_unit ? end_unit : 1000000;
}

int64_t span_times_unit(const struct span_columns *c, const struct text_field *fields)
{
	int64_t start_unit, end_unit, when;

	return read_moment(c, fields, FIELD_START, &start_unit, &when) && read_moment(c, fields, FIELD_END, &end_unit, &when) ?
		       duration_unit(c, start_unit, end_unit) : 1;
}

bool span_times_read(const struct span_columns *c, const struct text_field *fields, struct span *span)
{
	int start = c->of_field[FIELD_START], end = c->of_field[FIELD_END];
	int64_t start_unit, end_unit, unit, duration = 0;

	if (!read_moment(c, fields, FIELD_START, &start_unit, &span->start) || !read_moment(c, fields, FIELD_END, &end_unit, &span->end))
		return false;
	if (start >= 0 && end >= 0)
		return span->end >= span->start;
	unit = duration_unit(c, start_unit, end_unit);
	if (c->of_field[FIELD_DURATION] < 0)
		return false;
	if (!scaled(&fields[c->of_field[FIELD_DURATION]], &unit, &duration))
		return false;
	if (end >= 0) {
		span->start = span->end - duration;
		return span->start >= 0;
	}
	span->flags |= start < 0 ? SPAN_NO_START : 0;
	return !__builtin_add_overflow(span->start, duration, &span->end);
}

/* --- durations without a unit ----------------------------------------------------------------------------------------- */

ORDER(ascending, int64_t, CMP(*a, *b))

/* By the median of the durations as numbers. 0 = out of memory. */
static int64_t unit_of_median(const struct timed_row *rows, size_t n)
{
	_cleanup_free_ int64_t *sorted = malloc((n + 1) * sizeof(*sorted));
	int64_t median;

	if (!sorted)
		return 0;
	for (size_t i = 0; i < n; i++)
		sorted[i] = rows[i].duration;
	qsort(sorted, n, sizeof(*sorted), ascending);
	median = n ? sorted[n / 2] : 0;
	return median >= NS_LEAST ? 1 : median >= US_LEAST ? 1000 : 1000000;
}

static const int64_t time_units[] = {1, 1000, 1000000, 1000000000};

/* A call, and its caller: ns, with durations as they were read. */
struct timed_call {
	int64_t after, own, caller;
};

struct timed_calls {
	VEC(struct timed_call) list;
};

static int find_calls(const struct timed_row *rows, size_t n, struct timed_calls *ret)
{
	_cleanup_(hmap_free) struct hmap row_of = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = hmap_put(&row_of, rows[i].trace, rows[i].id, (void *)&rows[i]);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct timed_row *caller = rows[i].parent ? hmap_get(&row_of, rows[i].trace, rows[i].parent) : NULL;

		if (caller && rows[i].start > caller->start)
			r = VEC_PUSH(ret->list, ((struct timed_call){rows[i].start - caller->start, rows[i].duration, caller->duration}));
	}
	return r;
}

/* Do nine in ten calls begin while their callers run, if durations are `times` as long as they were read? */
static bool begin_inside(const struct timed_calls *c, double times)
{
	size_t inside = 0;

	for (size_t i = 0; i < c->list.n; i++)
		inside += (double)c->list.v[i].after <= (double)c->list.v[i].caller * times;
	return (double)inside >= CALLS_INSIDE * (double)c->list.n;
}

/* Do they also end while they run? Those count that begin at least two units of time after their callers, as starts are rounded to one. */
static bool lie_inside(const struct timed_calls *c, int64_t unit, double times)
{
	size_t inside = 0, n = 0, far = 0;

	VEC_EACH(x, c->list) {
		if (x->after < 2 * unit)
			continue;
		n++;
		inside += (double)(x->after - unit) <= (double)(x->caller - x->own) * times;
		far += x->after <= x->caller / CALLER_LONG;
	}
	return n >= CALLS_LEAST && (double)inside >= CALLS_INSIDE * (double)n && 2 * far > n;
}

static int64_t unit_of_calls(const struct timed_calls *c, int64_t unit)
{
	for (size_t k = 0; k < ARRAY_SIZE(time_units) && time_units[k] < unit; k++)
		if (lie_inside(c, unit, (double)time_units[k] / (double)unit))
			return time_units[k];
	for (size_t k = 0; k < ARRAY_SIZE(time_units); k++)
		if (time_units[k] >= unit && begin_inside(c, (double)time_units[k] / (double)unit))
			return time_units[k];
	return unit;
}

int64_t span_times_guess(const struct timed_row *rows, size_t n, int64_t unit, bool of_text)
{
	struct timed_calls calls = {};
	int64_t found = 0;

	if (find_calls(rows, n, &calls) == 0)
		found = calls.list.n >= CALLS_LEAST ? unit_of_calls(&calls, unit) : of_text ? unit_of_median(rows, n) : unit;
	VEC_FREE(calls.list);
	return found;
}
