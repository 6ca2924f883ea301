/* A table with a line of column names, one span a line:
 *
 *   TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration
 *   0087f677c0a2cf3f80a551987167911b,ee744a66e6efcb2e,root,frontend-579b9bff58-t2dbm,hipstershop.Frontend/Recv.,1661...
 *
 * Which column is which field is the mapping's; columns that are no field are attributes of the root. A column whose
 * name tells its unit (..._us, ...Nano, ...Ms) has it; other times are seconds, ms, us or ns by the number of their
 * digits, or text (2026-11-20T14:32:07.123Z); a duration has the unit of the start, and ms without one. A record without a
 * start (SDiag's: a function and its execution time) is taken as concurrent with its siblings.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "source/span-reader.h"

#define COLUMNS_MAX 64
#define LINE_MAX_BYTES (1u << 20)

struct table {
	const char *names[COLUMNS_MAX];
	size_t lengths[COLUMNS_MAX];
	size_t n;
	int of_field[FIELD_COUNT]; /* column, -1 = none */
	bool of_resource[COLUMNS_MAX], of_span[COLUMNS_MAX], structural[COLUMNS_MAX];
	int64_t unit[COLUMNS_MAX]; /* ns, 0 = not told by the name */
	char separator;
	char *header;
	char *unquoted; /* a line with quotes: LINE_MAX_BYTES of them at most */
	size_t allocated;
};

struct field {
	const char *at;
	size_t n;
};

static void complain(struct span_reader *r, const struct input *in, uint64_t line, enum span_fault fault, const char *what)
{
	if (fault != SPAN_FAULT_SYNTAX || !r->part)
		span_fault(r->sink.faults, fault, "%s: line %" PRIu64 ": %s", in->name, line, what);
}

/* A line without quotes. Returns the number of fields. */
static size_t split_plain(const char *line, size_t n, char separator, struct field *fields)
{
	const char *end = line + n, *at = line;
	size_t used = 0;

	while (used < COLUMNS_MAX) {
		const char *next = memchr(at, separator, (size_t)(end - at));

		fields[used++] = (struct field){at, (size_t)((next ? next : end) - at)};
		if (!next)
			break;
		at = next + 1;
	}
	return used;
}

/* Quoted fields are unquoted in place. */
static size_t split_quoted(char *line, size_t n, char separator, struct field *fields)
{
	char *end = line + n, *at = line;
	size_t used = 0;

	while (used < COLUMNS_MAX) {
		struct field *f = &fields[used++];
		char *next;

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
			f->at = at;
			f->n = (size_t)((next ? next : end) - at);
		}
		if (!next)
			break;
		at = next + 1;
	}
	return used;
}

/* The number of fields, 0 without memory. */
static size_t split(struct table *t, const char *line, size_t n, struct field *fields)
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

static bool ends(const char *name, size_t n, const char *end)
{
	return n >= strlen(end) && !strncasecmp(name + n - strlen(end), end, strlen(end));
}

static int64_t unit_of(const char *name, size_t n)
{
	static const struct {
		const char *end;
		int64_t ns;
	} units[] = {{"nano", 1}, {"_ns", 1}, {"nanos", 1}, {"micro", 1000}, {"_us", 1000}, {"micros", 1000},
		     {"milli", 1000000}, {"_ms", 1000000}, {"millis", 1000000}, {"_s", 1000000000}, {"seconds", 1000000000}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (ends(name, n, units[i].end))
			return units[i].ns;
	return 0;
}

/* "start" names the columns start, start_us, start_ms ... */
static int column_named(const struct table *t, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < t->n; i++)
		if (t->lengths[i] >= n && !memcmp(t->names[i], name, n) &&
		    (t->lengths[i] == n || (t->names[i][n] == '_' && t->unit[i] && t->lengths[i] <= n + 3)))
			return (int)i;
	return -1;
}

/* Fields of processes make the resource; trace, span, times ... are no attributes. */
static bool is_resource_field(int field)
{
	return field == FIELD_SERVICE || field == FIELD_INSTANCE || field == FIELD_HOST || field == FIELD_HARDWARE ||
	       field == FIELD_VERSION;
}

static int read_header(struct span_reader *r, struct table *t, const char *line, size_t n)
{
	struct field fields[COLUMNS_MAX];

	if (n >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) {
		line += 3;
		n -= 3;
	}
	t->header = strndup(line, n);
	if (!t->header)
		return -ENOMEM;
	t->separator = memchr(line, ',', n) ? ',' : memchr(line, '\t', n) ? '\t' : ';';
	t->n = split_quoted(t->header, strlen(t->header), t->separator, fields);
	for (size_t i = 0; i < t->n; i++) {
		t->names[i] = fields[i].at;
		t->lengths[i] = fields[i].n;
		t->unit[i] = unit_of(fields[i].at, fields[i].n);
	}
	for (int f = 0; f < FIELD_COUNT; f++) {
		t->of_field[f] = -1;
		for (char *const *key = r->sink.mapping->keys[f]; *key; key++) {
			int column = column_named(t, *key);

			if (column < 0)
				continue;
			if (t->of_field[f] < 0)
				t->of_field[f] = column;
			t->structural[column] |= f < FIELD_SERVICE;
			t->of_resource[column] |= is_resource_field(f);
		}
	}
	for (size_t i = 0; i < t->n; i++)
		t->of_span[i] = !t->of_resource[i] && !t->structural[i];
	return 0;
}

static bool usable_header(struct span_reader *r, const struct table *t, const struct input *in)
{
	static const enum span_field needed[] = {FIELD_TRACE, FIELD_SPAN, FIELD_FUNCTION};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (t->of_field[needed[i]] >= 0)
			continue;
		if (!r->part)
			span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: line 1: no column is the %s's; a mapping file names it: %s = COLUMN",
			   in->name, span_field_name(needed[i]), span_field_name(needed[i]));
		return false;
	}
	if (t->of_field[FIELD_END] >= 0 || t->of_field[FIELD_DURATION] >= 0)
		return true;
	if (!r->part)
		span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: line 1: no column is the end or the duration; a mapping file names it: end = COLUMN",
		   in->name);
	return false;
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

static bool parse_digits(const struct field *f, int64_t *ret)
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

/* "2026-11-20T14:32:07.123456789Z", "2026-11-20 14:32:07.123" (UTC). */
static bool parse_date(const struct field *f, int64_t *ret)
{
	char text[48];
	struct tm tm = {};
	const char *rest;
	int64_t ns = 0, scale = 100000000;

	if (f->n < 19 || f->n >= sizeof(text))
		return false;
	memcpy(text, f->at, f->n);
	text[f->n] = '\0';
	text[10] = ' ';
	rest = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
	if (!rest)
		return false;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, scale /= 10)
			ns += (*rest - '0') * scale;
	if (*rest && *rest != 'Z' && strncmp(rest, "+00", 3) && strncmp(rest, " UTC", 4))
		return false;
	*ret = (int64_t)timegm(&tm) * 1000000000 + ns;
	return true;
}

static int64_t unit_by_size(int64_t value)
{
	return value > 100000000000000000 ? 1 : value > 100000000000000 ? 1000 : value > 100000000000 ? 1000000 : 1000000000;
}

static bool scaled(const struct field *f, int64_t unit, int64_t *ret)
{
	char text[40], *end;
	double value;

	if (parse_digits(f, ret))
		return !__builtin_mul_overflow(*ret, unit, ret);
	if (!f->n || f->n >= sizeof(text))
		return false;
	memcpy(text, f->at, f->n);
	text[f->n] = '\0';
	value = strtod(text, &end) * (double)unit;
	if (*end || !(value >= 0) || value > 9e18)
		return false;
	*ret = (int64_t)(value + 0.5);
	return true;
}

/* *unit is the column's, or becomes what the value's size tells. */
static bool parse_moment(const struct field *f, int64_t *unit, int64_t *ret)
{
	if (f->n > 10 && (f->at[4] == '-' || f->at[10] == 'T')) {
		*unit = 1;
		return parse_date(f, ret);
	}
	if (!*unit) {
		int64_t whole = strtoll(f->at, NULL, 10);

		*unit = unit_by_size(whole);
	}
	return scaled(f, *unit, ret);
}

static bool read_times(const struct table *t, const struct field *fields, struct span *span)
{
	int start = t->of_field[FIELD_START], end = t->of_field[FIELD_END], length = t->of_field[FIELD_DURATION];
	int64_t unit = start >= 0 ? t->unit[start] : 0, end_unit = end >= 0 ? t->unit[end] : 0, duration = 0;

	if (start >= 0 && !parse_moment(&fields[start], &unit, &span->start))
		return false;
	if (end >= 0 && !parse_moment(&fields[end], &end_unit, &span->end))
		return false;
	if (start >= 0 && end >= 0)
		return span->end >= span->start;
	if (!scaled(&fields[length], t->unit[length] ? t->unit[length] : unit ? unit : end >= 0 ? end_unit : 1000000, &duration))
		return false;
	if (end >= 0) {
		span->start = span->end - duration;
		return span->start >= 0;
	}
	span->flags |= start < 0 ? SPAN_NO_START : 0;
	return !__builtin_add_overflow(span->start, duration, &span->end);
}

static bool is_none(const struct field *f)
{
	static const char *const none[] = {"root", "0", "null", "NULL", "None", "nan", "-1"};

	if (f->n > 4)
		return f->n == 16 && !memcmp(f->at, "0000000000000000", 16);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (f->n == strlen(none[i]) && !memcmp(f->at, none[i], f->n))
			return true;
	return !f->n;
}

static void read_columns(struct span_reader *r, const struct table *t, const struct field *fields, const bool *which,
			 bool all)
{
	reader_begin(r);
	for (size_t i = 0; i < t->n; i++)
		if (which[i])
			reader_attribute(r, t->names[i], t->lengths[i], fields[i].at, fields[i].n, all);
}

static void read_resource(struct span_reader *r, const struct table *t, const struct field *fields, struct span *span)
{
	char key[4096];
	const struct cached_resource *cached;
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (!t->of_resource[i] || n + fields[i].n + 1 > sizeof(key))
			continue;
		memcpy(key + n, fields[i].at, fields[i].n);
		n += fields[i].n;
		key[n++] = '\n';
	}
	cached = reader_cached(r, key, n);
	if (cached) {
		span->resource = cached->set;
		span->service = cached->service;
		return;
	}
	read_columns(r, t, fields, t->of_resource, true);
	span->resource = reader_resource(r, &span->service);
	reader_remember(r, key, n, span->resource, span->service);
}

static int read_line(struct span_reader *r, const struct table *t, const struct input *in, uint64_t line,
		     struct field *fields)
{
	struct span span = {.weight = SPAN_WEIGHT_ONE};
	const struct field *trace = &fields[t->of_field[FIELD_TRACE]], *id = &fields[t->of_field[FIELD_SPAN]],
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
	for (int column = t->of_field[FIELD_TRACE];; column--) {
		const char *next = memchr(line, t->separator, (size_t)(end - line));

		if (column == 0) {
			trace_id_key(line, (size_t)((next ? next : end) - line), &high, &low);
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
	struct field fields[COLUMNS_MAX];
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
			else if (found != t.n)
				complain(r, in, line, SPAN_FAULT_SYNTAX, "not as many fields as columns");
			else
				result = read_line(r, &t, in, line, fields);
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
