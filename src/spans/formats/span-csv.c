/* A table with a line of column names, one span a line:
 *
 *   TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration
 *   0087f677c0a2cf3f80a551987167911b,ee744a66e6efcb2e,root,frontend-579b9bff58-t2dbm,hipstershop.Frontend/Recv.,1661...
 *
 * Which column is which field is the mapping's; columns that are not a field are attributes of the root, one that holds a map
 * ({'k':'v'}) each of its pairs. Times: spans/formats/span-times.h. A record without a start (SDiag's: a function and its execution time)
 * is taken as concurrent with its siblings.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/data/cleanup.h"
#include "lib/data/vec.h"
#include "lib/input/csv-field.h"
#include "spans/formats/alibaba.h"
#include "spans/formats/span-columns.h"
#include "spans/formats/span-reader.h"
#include "spans/formats/span-times.h"

#define LINE_MAX_BYTES (1u << 20)
#define GUESS_BYTES    (1u << 18) /* of the beginning, that tell durations' unit */
#define GUESS_ROWS     4096

struct table {
	struct span_columns columns;
	struct alibaba alibaba;
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

/* Quoted fields are unquoted in place; line[n] can be read. */
static size_t split_quoted(char *line, size_t n, char separator, struct text_field *fields)
{
	char *end = line + n, *at = line;
	size_t used = 0;

	while (at <= end && used < COLUMNS_MAX) {
		struct csv_field f;

		while (at < end && *at == ' ')
			at++;
		f = csv_next_field(&at, end, separator);
		fields[used++] = trimmed(f.at, f.end);
	}
	return used;
}

/* The number of fields, 0 without memory. */
static size_t split(struct table *t, const char *line, size_t n, struct text_field *fields)
{
	char *grown;

	if (!memchr(line, '"', n))
		return split_plain(line, n, t->separator, fields);
	if (n >= t->allocated) {
		grown = realloc(t->unquoted, 2 * n);
		if (!grown)
			return 0;
		t->unquoted = grown;
		t->allocated = 2 * n;
	}
	memcpy(t->unquoted, line, n);
	return split_quoted(t->unquoted, n, t->separator, fields);
}

/* The fields of a row, if they are as many as the columns: 1; 0 = they are not, -ENOMEM. */
static int split_row(struct table *t, const char *line, size_t n, struct text_field *fields)
{
	bool alibaba = t->alibaba.rt >= 0;
	size_t found = split(t, line, n, fields);

	if (!found)
		return -ENOMEM;
	if (found + (alibaba ? ALIBABA_COLUMNS : 0) != t->columns.n)
		return 0;
	return !alibaba || alibaba_row(&t->alibaba, fields, t->columns.n);
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
	alibaba_columns(fields, &n, &t->alibaba);
	span_columns_find(fields, n, r->sink.mapping, &t->columns);
	return 0;
}

/* A column that may say who called, where none is known to: without it every span would be a request. */
static const struct text_field *unknown_parent(const struct span_columns *c)
{
	static const char *const words[] = {"parent", "pspan", "caller"};

	for (size_t i = 0; c->of_field[FIELD_PARENT] < 0 && i < c->n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			for (size_t at = 0; at + strlen(words[k]) <= c->names[i].n; at++)
				if (!strncasecmp(c->names[i].at + at, words[k], strlen(words[k])))
					return &c->names[i];
	return NULL;
}

static bool usable_header(struct span_reader *r, const struct table *t, const struct input *in)
{
	enum span_field missing = span_columns_missing(&t->columns);
	const char *name = missing < FIELD_COUNT ? span_field_name(missing) : "";
	const struct text_field *parent = unknown_parent(&t->columns);

	if (missing == FIELD_COUNT && parent && !r->part)
		span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: line 1: no column is the parent's, though '%.*s' may be; a mapping file names it: "
			   "parent = COLUMN", in->name, (int)parent->n, parent->at);
	if (missing == FIELD_COUNT && parent)
		return false;

	if (missing < FIELD_COUNT && !r->part)
		span_fault(r->sink.faults, SPAN_FAULT_SYNTAX, "%s: line 1: no column is the %s's%s; a mapping file names it: %s = COLUMN", in->name,
			   name, missing == FIELD_DURATION ? ", or the end's" : "", name);
	return missing == FIELD_COUNT;
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
	return ANY_WHERE(i, sizeof(none) / sizeof(none[0]), f->n == strlen(none[i]) && !strncasecmp(f->at, none[i], f->n));
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
			span_reader_attribute(r, key.at, key.n, value.at, value.n, all);
		else
			at++;
	}
}

static bool is_map(const struct text_field *f)
{
	return f->n > 1 && f->at[0] == '{' && f->at[f->n - 1] == '}';
}

/* ['id', ...] as ClickHouse writes lists, or ids with commas between them. */
static void read_links(struct span_reader *r, const struct text_field *list, struct span *span)
{
	bool in_brackets = list->n > 1 && list->at[0] == '[' && list->at[list->n - 1] == ']';
	const char *at = list->at + in_brackets, *end = list->at + list->n - in_brackets;
	struct span_link link = {.span = span->id};
	uint64_t high, low;

	while (at < end) {
		struct text_field id = map_text(&at, end);

		if (!id.n) {
			at++;
			continue;
		}
		span_trace_id_of_text(r->sink.names, id.at, id.n, &high, &low);
		span_reader_link(span, high, low, &link);
	}
	span_reader_end_links(r, span, &link);
}

static void read_columns(struct span_reader *r, const struct span_columns *c, const struct text_field *fields, const bool *which,
			 bool all)
{
	for (size_t i = 0; i < c->n; i++) {
		if (which[i] && is_map(&fields[i]))
			read_map(r, &fields[i], all);
		else if (which[i])
			span_reader_attribute(r, c->names[i].at, c->names[i].n, fields[i].at, fields[i].n,
					      all);
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
	cached = whole ? span_reader_cached(r, key, n) : NULL;
	if (cached) {
		span->resource = cached->set;
		span->service = cached->service;
		return;
	}
	span_reader_begin(r);
	read_columns(r, c, fields, c->of_resource, true);
	span->resource = span_reader_resource(r, &span->service);
	if (whole)
		span_reader_remember(r, key, n, span->resource, span->service);
}

static int read_line(struct span_reader *r, const struct span_columns *t, const struct input *in, uint64_t line,
		     struct text_field *fields)
{
	struct span span = {.weight = SPAN_WEIGHT_ONE};
	const struct text_field *trace = &fields[t->of_field[FIELD_TRACE]], *id = &fields[t->of_field[FIELD_SPAN]],
			   *function = &fields[t->of_field[FIELD_FUNCTION]];
	int parent = t->of_field[FIELD_PARENT], kind = t->of_field[FIELD_KIND], status = t->of_field[FIELD_STATUS];

	if (!span_reader_takes_text(r, trace->at, trace->n, &span.trace_high, &span.trace_low))
		return 0;
	span.id = span_id_of_text(id->at, id->n);
	if (!span.id || !trace->n) {
		complain(r, in, line, SPAN_FAULT_ID, "no trace or span id");
		return 0;
	}
	if (!span_times_read(t, fields, &span)) {
		complain(r, in, line, SPAN_FAULT_TIME, "its times are not a valid span of time");
		return 0;
	}
	if (parent >= 0 && !is_none(&fields[parent]))
		span.parent = span_id_of_text(fields[parent].at, fields[parent].n);
	if (span.parent == span.id)
		span.parent = 0;
	span.operation = span_reader_name(r, function->at, function->n);
	if (kind >= 0)
		span.kind = (uint8_t)span_kind_of_text(fields[kind].at, fields[kind].n);
	if (status >= 0 && span_status_is_error(fields[status].at, fields[status].n))
		span.flags |= SPAN_ERROR;
	read_resource(r, t, fields, &span);
	read_columns(r, t, fields, t->of_span, span_reader_begin_span(r, &span));
	span_reader_end_span(r, &span);
	if (t->links >= 0)
		read_links(r, &fields[t->links], &span);
	if (r->weight)
		span.weight = r->weight;
	return span_reader_put(r, &span);
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

/* Can it be reported without splitting the line that it belongs to another reader's part? */
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

			span_trace_id_key(id.at, id.n, &high, &low);
			return !span_reader_takes(r, high, low);
		}
		if (!next)
			return false;
		line = next + 1;
	}
}

/* Goes behind a line of n bytes and its end. */
static void leave_line(struct input *in, int64_t n)
{
	in->at += (size_t)n + ((size_t)n < in->n - in->at);
}

static size_t line_length(const char *line, int64_t n)
{
	return (size_t)n - (n && line[n - 1] == '\r');
}

static void tell_unit(struct span_reader *r, const struct table *t, const struct input *in, int64_t unit)
{
	const struct text_field *name = &t->columns.names[t->columns.of_field[FIELD_DURATION]];
	const char *text = unit == 1 ? "ns" : unit == 1000 ? "us" : unit == 1000000 ? "ms" : "s";

	if (!r->part)
		span_assume(r->sink.faults, "%s: '%.*s' has no unit: it is read as %s; a mapping with 'duration = %.*s UNIT' says otherwise", in->name,
			    (int)name->n, name->at, text, (int)name->n, name->at);
}

static struct timed_row timed_row_of(const struct span_columns *c, const struct text_field *fields, const struct span *span)
{
	const struct text_field *trace = &fields[c->of_field[FIELD_TRACE]], *id = &fields[c->of_field[FIELD_SPAN]];
	int parent = c->of_field[FIELD_PARENT];
	struct timed_row row = {.id = span_id_of_text(id->at, id->n), .start = span->start, .duration = span->end - span->start};
	uint64_t high;

	span_trace_id_key(trace->at, trace->n, &high, &row.trace);
	if (parent >= 0 && !is_none(&fields[parent]))
		row.parent = span_id_of_text(fields[parent].at, fields[parent].n);
	return row;
}

/* The first lines' times and calls, in at most GUESS_ROWS rows. Those of other readers are among them: all are to guess in the same way. */
static size_t first_rows(struct table *t, struct input *in, struct timed_row *rows, int64_t *unit, bool *of_text)
{
	const struct span_columns *c = &t->columns;
	int when = c->of_field[c->of_field[FIELD_START] >= 0 ? FIELD_START : FIELD_END];
	int64_t have = input_need(in, GUESS_BYTES);
	const char *at = (const char *)input_at(in), *end = at + (have > 0 ? have : 0), *next;
	struct text_field fields[COLUMNS_MAX];
	size_t n = 0;

	for (; n < GUESS_ROWS && (next = memchr(at, '\n', (size_t)(end - at))); at = next + 1) {
		size_t length = line_length(at, next - at);
		struct span span = {};

		if (!length || split_row(t, at, length, fields) <= 0 || !span_times_read(c, fields, &span))
			continue;
		*unit = span_times_unit(c, fields);
		*of_text = span_time_is_text(&fields[when]);
		rows[n++] = timed_row_of(c, fields, &span);
	}
	return n;
}

/* The tables of the AIOps challenge (2021 and 2022): starts in ms, durations in us. */
static bool of_challenge(const struct span_columns *c)
{
	const struct text_field *service = c->of_field[FIELD_SERVICE] >= 0 ? &c->names[c->of_field[FIELD_SERVICE]] : NULL;

	return service && service->n == strlen("cmdb_id") && !memcmp(service->at, "cmdb_id", service->n) && c->of_field[FIELD_START] >= 0;
}

static int guess_unit(struct span_reader *r, struct table *t, struct input *in)
{
	struct span_columns *c = &t->columns;
	bool timed = c->of_field[FIELD_START] >= 0 || c->of_field[FIELD_END] >= 0, of_text = false;
	_cleanup_free_ struct timed_row *rows = NULL;
	int64_t unit = 1000000, found = unit;
	size_t n;

	if (!span_times_unsure(c))
		return 0;
	if (of_challenge(c)) {
		c->unit[c->of_field[FIELD_DURATION]] = 1000;
		return 0;
	}
	if (timed) {
		rows = malloc(GUESS_ROWS * sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		n = first_rows(t, in, rows, &unit, &of_text);
		found = span_times_guess(rows, n, unit, of_text);
		if (!found)
			return -ENOMEM;
		if (!n)
			return 0;
		c->unit[c->of_field[FIELD_DURATION]] = found;
	}
	if (!timed || of_text || found != unit)
		tell_unit(r, t, in, found);
	return 0;
}

/* 1 = the lines can be read, 0 = not, -ENOMEM. */
static int begin_table(struct span_reader *r, struct input *in, struct table *t)
{
	int64_t n = next_line(in);
	const char *text = n >= 0 ? (const char *)input_at(in) : NULL;
	int result = text ? read_header(r, t, text, line_length(text, n)) : 0;

	if (!text || result < 0 || !usable_header(r, t, in))
		return result;
	leave_line(in, n);
	result = guess_unit(r, t, in);
	return result < 0 ? result : 1;
}

static int read_all(struct span_reader *r, struct input *in)
{
	struct table t = {};
	struct text_field fields[COLUMNS_MAX];
	uint64_t line = 1;
	int64_t n;
	int begun = begin_table(r, in, &t), result = begun < 0 ? begun : 0;

	while (begun > 0 && result == 0 && (n = next_line(in)) >= 0) {
		const char *text = (const char *)input_at(in);
		size_t length = line_length(text, n);

		line++;
		if (length && !is_of_others(r, &t, text, length)) {
			int found = split_row(&t, text, length, fields);

			if (found < 0)
				result = found;
			else if (found == 0)
				complain(r, in, line, SPAN_FAULT_SYNTAX, "not as many fields as columns");
			else
				result = read_line(r, &t.columns, in, line, fields);
		}
		leave_line(in, n);
	}
	FREE_ALL(t.header, t.unquoted);
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
