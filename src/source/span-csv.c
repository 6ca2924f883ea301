/* A table with a line of column names, one span a line:
 *
 *   TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration
 *   0087f677c0a2cf3f80a551987167911b,ee744a66e6efcb2e,root,frontend-579b9bff58-t2dbm,hipstershop.Frontend/Recv.,1661...
 *
 * Which column is which field is the mapping's; columns that are no field are attributes of the root, one that holds a map
 * ({'k':'v'}) each of its pairs. A column whose name tells its unit (..._us, ...Nano, ...Ms) has it; other times are seconds, ms, us or ns by the number of their
 * digits, or text (2026-11-20T14:32:07.123Z); a duration has the unit of the start, ns beside text, and ms without one. A record without a
 * start (SDiag's: a function and its execution time) is taken as concurrent with its siblings.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "source/span-columns.h"
#include "source/span-reader.h"
#include "source/timestamp.h"

#define LINE_MAX_BYTES (1u << 20)

struct table {
	struct span_columns columns;
	char separator;
	char *header;
	char *unquoted; /* a line with quotes: LINE_MAX_BYTES of them at most */
	size_t allocated;
};

static void complain(struct span_reader *r, const struct input *in, uint64_t line, enum span_fault fault, const char *what)
{
	if (fault != SPAN_FAULT_SYNTAX || !r->part)
		span_fault(r->sink.faults, fault, "%s: line %" PRIu64 ": %s", in->name, line, what);
}

static struct text_field trimmed(const char *at, const char *end)
{
	while (at < end && *at == ' ')
		at++;
	while (end > at && end[-1] == ' ')
		end--;
	return (struct text_field){at, (size_t)(end - at)};
}

/* A line without quotes. Returns the number of fields. */
static size_t split_plain(const char *line, size_t n, char separator, struct text_field *fields)
{
	const char *end = line + n, *at = line;
	size_t used = 0;

	while (used < COLUMNS_MAX) {
		const char *next = memchr(at, separator, (size_t)(end - at));

		fields[used++] = trimmed(at, next ? next : end);
		if (!next)
			break;
		at = next + 1;
	}
	return used;
}

/* Quoted fields are unquoted in place. */
static size_t split_quoted(char *line, size_t n, char separator, struct text_field *fields)
{
	char *end = line + n, *at = line;
	size_t used = 0;

	while (used < COLUMNS_MAX) {
		struct text_field *f = &fields[used++];
		char *next;

		while (at < end && *at == ' ')
			at++;
		if (at < end && *at == '"') {
			char *out = ++at;

			f->at = at;
			while (at < end && (*at != '"' || (at + 1 < end && at[1] == '"'))) {
				at += *at == '"';
				*out++ = *at++;
			}
			f->n = (size_t)(out - f->at);
			next = memchr(at, separator, (size_t)(end - at));
		} else {
			next = memchr(at, separator, (size_t)(end - at));
			*f = trimmed(at, next ? next : end);
		}
		if (!next)
			break;
		at = next + 1;
	}
	return used;
}

/* The number of fields, 0 without memory. */
static size_t split(struct table *t, const char *line, size_t n, struct text_field *fields)
{
	char *grown;

	if (!memchr(line, '"', n))
		return split_plain(line, n, t->separator, fields);
	if (n > t->allocated) {
		grown = realloc(t->unquoted, 2 * n);
		if (!grown)
			return 0;
		t->unquoted = grown;
		t->allocated = 2 * n;
	}
	memcpy(t->unquoted, line, n);
	return split_quoted(t->unquoted, n, t->separator, fields);
}

static int read_header(struct span_reader *r, struct table *t, const char *line, size_t n)
{
	struct text_field fields[COLUMNS_MAX];

	if (n >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) {
		line += 3;
		n -= 3;
	}
	t->header = strndup(line, n);
	if (!t->header)
		return -ENOMEM;
	t->separator = memchr(line, ',', n) ? ',' : memchr(line, '\t', n) ? '\t' : ';';
	n = split_quoted(t->header, strlen(t->header), t->separator, fields);
	span_columns_find(fields, n, r->sink.mapping, &t->columns);
	return 0;
}

static bool usable_header(struct span_reader *r, const struct table *t, const struct input *in)
{
	enum span_field missing = span_columns_missing(&t->columns);
	const char *name = missing < FIELD_COUNT ? span_field_name(missing) : "";

	if (missing < FIELD_COUNT && !r->part)
		span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: line 1: no column is the %s's%s; a mapping file names it: %s = COLUMN", in->name,
			   name, missing == FIELD_DURATION ? ", or the end's" : "", name);
	return missing == FIELD_COUNT;
}

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
	*ret = (int64_t)(value + 0.5);
	return value < 9e18;
}

/* *unit is the column's, or becomes what the value's size tells. */
static bool parse_moment(const struct text_field *f, int64_t *unit, int64_t *ret)
{
	if (f->n < 10 || (f->at[4] != '-' && f->at[4] != '/'))
		return scaled(f, unit, ret);
	*unit = 1;
	return parse_timestamp(f->at, f->at + f->n, ret) == 0 && *ret >= 0;
}

static bool read_times(const struct span_columns *c, const struct text_field *fields, struct span *span)
{
	int start = c->of_field[FIELD_START], end = c->of_field[FIELD_END], length = c->of_field[FIELD_DURATION];
	int64_t unit = start >= 0 ? c->unit[start] : 0, end_unit = end >= 0 ? c->unit[end] : 0, duration = 0, duration_unit;

	if (start >= 0 && !parse_moment(&fields[start], &unit, &span->start))
		return false;
	if (end >= 0 && !parse_moment(&fields[end], &end_unit, &span->end))
		return false;
	if (start >= 0 && end >= 0)
		return span->end >= span->start;
	duration_unit = c->unit[length] ? c->unit[length] : unit ? unit : end >= 0 ? end_unit : 1000000;
	if (!scaled(&fields[length], &duration_unit, &duration))
		return false;
	if (end >= 0) {
		span->start = span->end - duration;
		return span->start >= 0;
	}
	span->flags |= start < 0 ? SPAN_NO_START : 0;
	return !__builtin_add_overflow(span->start, duration, &span->end);
}

/* What tables write where a request has no caller. */
static bool is_none(const struct text_field *f)
{
	static const char *const none[] = {"root", "null", "none", "nil", "nan", "n/a", "na", "-1", "-", "\\N", "undefined"};
	size_t zeros = 0;

	while (zeros < f->n && f->at[zeros] == '0')
		zeros++;
	if (zeros == f->n)
		return true;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (f->n == strlen(none[i]) && !strncasecmp(f->at, none[i], f->n))
			return true;
	return false;
}

/* A text between quotes, or up to a comma or brace; goes behind it. */
static struct text_field map_text(const char **at, const char *end)
{
	struct text_field f;
	char quote;

	while (*at < end && (**at == ' ' || **at == ','))
		(*at)++;
	quote = *at < end && (**at == '"' || **at == '\'') ? *(*at)++ : 0;
	f.at = *at;
	while (*at < end && (quote ? **at != quote : !strchr(",:}", **at)))
		*at += quote && **at == '\\' && *at + 1 < end ? 2 : 1;
	f.n = (size_t)(*at - f.at);
	*at += quote && *at < end;
	return f;
}

/* A column that holds many attributes: {'k':'v', ...} as ClickHouse writes maps, {"k": "v"} as others do. */
static void read_map(struct span_reader *r, const struct text_field *map, bool all)
{
	const char *at = map->at + 1, *end = map->at + map->n - 1;

	while (at < end) {
		struct text_field key = map_text(&at, end), value;

		while (at < end && (*at == ' ' || *at == ':'))
			at++;
		value = map_text(&at, end);
		if (key.n)
			reader_attribute(r, key.at, key.n, value.at, value.n, all);
		else
			at++;
	}
}

static bool is_map(const struct text_field *f)
{
	return f->n > 1 && f->at[0] == '{' && f->at[f->n - 1] == '}';
}

static void read_columns(struct span_reader *r, const struct span_columns *c, const struct text_field *fields, const bool *which,
			 bool all)
{
	reader_begin(r);
	for (size_t i = 0; i < c->n; i++) {
		if (which[i] && is_map(&fields[i]))
			read_map(r, &fields[i], all);
		else if (which[i])
			reader_attribute(r, c->names[i].at, c->names[i].n, fields[i].at, fields[i].n, all);
	}
}

static void read_resource(struct span_reader *r, const struct span_columns *c, const struct text_field *fields, struct span *span)
{
	char key[4096];
	const struct cached_resource *cached;
	size_t n = 0;
	bool whole = true;

	for (size_t i = 0; i < c->n; i++) {
		if (!c->of_resource[i])
			continue;
		whole &= n + fields[i].n + 1 <= sizeof(key);
		if (!whole)
			break;
		memcpy(key + n, fields[i].at, fields[i].n);
		n += fields[i].n;
		key[n++] = '\n';
	}
	cached = whole ? reader_cached(r, key, n) : NULL;
	if (cached) {
		span->resource = cached->set;
		span->service = cached->service;
		return;
	}
	read_columns(r, c, fields, c->of_resource, true);
	span->resource = reader_resource(r, &span->service);
	if (whole)
		reader_remember(r, key, n, span->resource, span->service);
}

static int read_line(struct span_reader *r, const struct span_columns *t, const struct input *in, uint64_t line,
		     struct text_field *fields)
{
	struct span span = {.weight = SPAN_WEIGHT_ONE};
	const struct text_field *trace = &fields[t->of_field[FIELD_TRACE]], *id = &fields[t->of_field[FIELD_SPAN]],
			   *function = &fields[t->of_field[FIELD_FUNCTION]];
	int parent = t->of_field[FIELD_PARENT], kind = t->of_field[FIELD_KIND], status = t->of_field[FIELD_STATUS];

	if (!reader_takes_text(r, trace->at, trace->n, &span.trace_high, &span.trace_low))
		return 0;
	span.id = span_id_of_text(id->at, id->n);
	if (!span.id || !trace->n) {
		complain(r, in, line, SPAN_FAULT_ID, "no trace or span id");
		return 0;
	}
	if (!read_times(t, fields, &span)) {
		complain(r, in, line, SPAN_FAULT_TIME, "its times are no span of time");
		return 0;
	}
	if (parent >= 0 && !is_none(&fields[parent]))
		span.parent = span_id_of_text(fields[parent].at, fields[parent].n);
	if (span.parent == span.id)
		span.parent = 0;
	span.operation = names_text(r->sink.names, function->at, function->n);
	if (kind >= 0)
		span.kind = (uint8_t)span_kind_of_text(fields[kind].at, fields[kind].n);
	if (status >= 0 && span_status_is_error(fields[status].at, fields[status].n))
		span.flags |= SPAN_ERROR;
	read_resource(r, t, fields, &span);
	read_columns(r, t, fields, t->of_span, !span.parent);
	span.attributes = reader_set(r);
	if (r->weight)
		span.weight = r->weight;
	return r->sink.put(r->sink.state, &span);
}

/* The next line, without its end; -ENODATA at the end of the file. Newlines within quotes do not end a line. */
static int64_t next_line(struct input *in)
{
	size_t want = 4096, from = 0;
	bool quoted = false;

	for (;;) {
		int64_t have = input_need(in, want);
		const uint8_t *at, *newline;

		if (have <= 0)
			return have < 0 ? have : -ENODATA;
		at = input_at(in);
		while ((newline = memchr(at + from, '\n', (size_t)have - from))) {
			for (const uint8_t *q = at + from; (q = memchr(q, '"', (size_t)(newline - q))); q++)
				quoted = !quoted;
			if (!quoted)
				return newline - at;
			from = (size_t)(newline - at) + 1;
		}
		if ((size_t)have < want)
			return have;
		if (want > LINE_MAX_BYTES)
			return have;
		want *= 2;
		from = 0;
		quoted = false;
	}
}

/* Can it be told without splitting the line that it belongs to another reader's part? */
static bool is_of_others(const struct span_reader *r, const struct table *t, const char *line, size_t n)
{
	const char *end = line + n;
	uint64_t high, low;

	if (r->parts < 2 || memchr(line, '"', n))
		return false;
	for (int column = t->columns.of_field[FIELD_TRACE];; column--) {
		const char *next = memchr(line, t->separator, (size_t)(end - line));

		if (column == 0) {
			struct text_field id = trimmed(line, next ? next : end);

			trace_id_key(id.at, id.n, &high, &low);
			return !reader_takes(r, high, low);
		}
		if (!next)
			return false;
		line = next + 1;
	}
}

static int read_all(struct span_reader *r, struct input *in)
{
	struct table t = {};
	struct text_field fields[COLUMNS_MAX];
	uint64_t line = 0;
	int64_t n;
	int result = 0;

	while (result == 0 && (n = next_line(in)) >= 0) {
		const char *text = (const char *)input_at(in);
		size_t length = (size_t)n - (n && text[n - 1] == '\r');

		line++;
		if (line == 1) {
			result = read_header(r, &t, text, length);
			if (result == 0 && !usable_header(r, &t, in))
				break;
		} else if (length && !is_of_others(r, &t, text, length)) {
			size_t found = split(&t, text, length, fields);

			if (!found)
				result = -ENOMEM;
			else if (found != t.columns.n)
				complain(r, in, line, SPAN_FAULT_SYNTAX, "not as many fields as columns");
			else
				result = read_line(r, &t.columns, in, line, fields);
		}
		in->at += (size_t)n + ((size_t)n < in->n - in->at);
	}
	free(t.header);
	free(t.unquoted);
	return result;
}

/* A first line of words between separators. */
static bool recognises(const uint8_t *head, size_t n)
{
	const uint8_t *end = memchr(head, '\n', n);
	size_t length = end ? (size_t)(end - head) : n;

	for (size_t i = 0; i < length; i++)
		if (head[i] < 32 && head[i] != '\t' && head[i] != '\r')
			return false;
	return length && head[0] != '{' && head[0] != '[' &&
	       (memchr(head, ',', length) || memchr(head, '\t', length) || memchr(head, ';', length));
}

const struct span_source source_span_csv = {
	.name = "csv",
	.help = "a table with a line of column names",
	.recognises = recognises,
	.read = read_all,
};
