/* SQL with its parameters put in, and answers row by row. */
#include "lib/net/clickhouse-inside.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/data/cleanup.h"

#define ROW_MAX	   ((size_t)64 << 20) /* of an answer: groupArray of a day of seconds is 1.4 MB */
#define FIELDS_MAX 4096

/* --- SQL --- */

static void put_quoted(struct str *out, char quote, const char *text)
{
	str_putc(out, quote);
	for (; *text; text++) {
		if (*text == '\\' || *text == quote)
			str_putc(out, '\\');
		str_putc(out, *text);
	}
	str_putc(out, quote);
}

static void put_string(struct str *out, const struct clickhouse_parameter *p)
{
	put_quoted(out, '\'', p->text);
}

static void put_identifier(struct str *out, const struct clickhouse_parameter *p)
{
	put_quoted(out, '`', p->text);
}

static void put_integer(struct str *out, const struct clickhouse_parameter *p)
{
	str_printf(out, "toInt64('%" PRId64 "')", p->integer); /* as text: the parser takes -2^63 for a float */
}

/* "database.table", each part quoted. */
static void put_table(struct str *out, const struct clickhouse_parameter *p)
{
	const char *dot = strchr(p->text, '.');
	_cleanup_free_ char *database = dot ? strndup(p->text, (size_t)(dot - p->text)) : NULL;

	if (database) {
		put_quoted(out, '`', database);
		str_putc(out, '.');
	}
	put_quoted(out, '`', dot ? dot + 1 : p->text);
}

static const struct {
	const char *name;
	void (*put)(struct str *out, const struct clickhouse_parameter *p);
} types[] = {
	{"String", put_string},	  {"Identifier", put_identifier}, {"Int64", put_integer}, {"Table", put_table},
};

/* The placeholder at `at` ("{name:Type}"): puts its value; where it ends, or NULL. */
static const char *put_placeholder(struct str *out, const char *at, const struct clickhouse_parameter *p)
{
	size_t name_n = strcspn(at + 1, ":}"), type_n;
	const char *type = at + 1 + name_n + 1;

	if (at[1 + name_n] != ':')
		return NULL;
	type_n = strcspn(type, "}");
	for (; p && p->name; p++)
		if (strlen(p->name) == name_n && strncmp(p->name, at + 1, name_n) == 0)
			break;
	if (!p || !p->name || type[type_n] != '}')
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strlen(types[i].name) == type_n && strncmp(types[i].name, type, type_n) == 0) {
			types[i].put(out, p);
			return type + type_n + 1;
		}
	return NULL;
}

int clickhouse_sql(struct str *out, const char *sql, const struct clickhouse_parameter *parameters)
{
	if (!parameters)
		return str_puts(out, sql);
	while (*sql) {
		size_t n = strcspn(sql, "{");

		str_append(out, sql, n);
		sql += n;
		if (!*sql)
			break;
		sql = put_placeholder(out, sql, parameters);
		if (!sql)
			return -EINVAL;
	}
	return out->error;
}

/* --- answers --- */

static char unescaped(char c)
{
	static const char from[] = "bfrnt0ab'\\", to[] = "\b\f\r\n\t\0\a\b'\\";
	const char *at = strchr(from, c);

	return at && c ? to[at - from] : c;
}

/* In place; NULL for \N. */
static char *unescape(char *field, size_t n)
{
	char *to = field;

	if (n == 2 && field[0] == '\\' && field[1] == 'N')
		return NULL;
	for (size_t i = 0; i < n; i++)
		*to++ = field[i] == '\\' && i + 1 < n ? unescaped(field[++i]) : field[i];
	*to = '\0';
	return field;
}

static int take_row(struct clickhouse_inflow *in, char *line, size_t length)
{
	char *fields[FIELDS_MAX], *end = line + length;
	size_t n = 0;

	/* an error after the first rows were sent comes as one more line of the body */
	if (str_starts(line, CLICKHOUSE_EXCEPTION) && strstr(line, "DB::Exception"))
		return clickhouse_fault(in->c, line);
	while (line <= end) {
		char *tab = memchr(line, '\t', (size_t)(end - line));
		char *stop = tab ? tab : end;

		if (n == FIELDS_MAX)
			return str_fail_again(&in->c->error, -EBADMSG, "row %" PRIu64 " of the answer has more than %d fields", in->rows + 1, FIELDS_MAX);
		fields[n++] = unescape(line, (size_t)(stop - line));
		line = stop + 1;
	}
	in->rows++;
	return in->row ? in->row(in->data, n, fields) : 0;
}

static int take_rows(struct clickhouse_inflow *in)
{
	char *at = in->rest.data, *end = at + in->rest.len, *newline;
	int r = 0;

	while (r == 0 && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		*newline = '\0';
		r = take_row(in, at, (size_t)(newline - at));
		at = newline + 1;
	}
	in->rest.len = (size_t)(end - at);
	memmove(in->rest.data, at, in->rest.len);
	return r;
}

static int take_binary_rows(struct clickhouse_inflow *in)
{
	const uint8_t *at = (const uint8_t *)in->rest.data, *end = at + in->rest.len;
	int r = 0;

	while (r == 0 && at < end) {
		struct reader reader = {at, end, false};

		r = in->binary(in->data, &reader);
		if (reader.bad)
			break;
		at = reader.at;
		in->rows++;
	}
	in->rest.len = (size_t)(end - at);
	memmove(in->rest.data, at, in->rest.len);
	return r;
}

int clickhouse_take_piece(const void *bytes, size_t n, void *data)
{
	struct clickhouse_inflow *in = data;
	int r = str_append(&in->rest, bytes, n);

	if (r < 0)
		return r;
	return in->binary ? take_binary_rows(in) : take_rows(in);
}

int clickhouse_take_end(struct clickhouse_inflow *in)
{
	const char *exception;

	if (!in->rest.len)
		return 0;
	in->rest.data[in->rest.len] = '\0';
	exception = memmem(in->rest.data, in->rest.len, CLICKHOUSE_EXCEPTION, strlen(CLICKHOUSE_EXCEPTION));
	if (exception && strstr(exception, "DB::Exception"))
		return clickhouse_fault(in->c, exception);
	return str_fail_again(&in->c->error, -EBADMSG, "the answer ends in the middle of row %" PRIu64, in->rows + 1);
}

#define PACKED_FROM 1024 /* bytes of a query that are worth packing */

static int run_query(struct clickhouse *c, const char *sql, const struct clickhouse_parameter *parameters, struct clickhouse_inflow *in)
{
	_cleanup_str_ struct str text = {}, url = {};
	struct http_request q = {.sink = clickhouse_take_piece, .data = in, .content_type = "text/plain"};
	int r = clickhouse_sql(&text, sql, parameters);

	if (r < 0)
		return str_fail_again(&c->error, r, "a query's placeholder has no value: %s", sql);
	if (in->binary)
		str_puts(&text, " FORMAT RowBinary");
	else if (in->row)
		str_puts(&text, " FORMAT TabSeparated");
	str_puts(&url, c->base);
	if (!in->binary) /* small answers; packing large ones would cost the server more than it saves */
		str_puts(&url, c->database ? "&enable_http_compression=1" : "enable_http_compression=1");
	if (text.error || url.error)
		return text.error ? text.error : url.error;
	q.url = url.data;
	q.body = text.data;
	q.n = text.len;
	q.gzip = text.len > PACKED_FROM;
	in->c = c;
	in->rest.max = ROW_MAX;
	r = clickhouse_send(c, &q);
	return r == 0 ? clickhouse_take_end(in) : r;
}

int clickhouse_query(struct clickhouse *c, const char *sql, const struct clickhouse_parameter *parameters,
		     clickhouse_row_fn *row, void *data)
{
	struct clickhouse_inflow in = {.row = row, .data = data};
	int r = run_query(c, sql, parameters, &in);

	str_free(&in.rest);
	return r;
}

int clickhouse_query_binary(struct clickhouse *c, const char *sql, const struct clickhouse_parameter *parameters,
			    clickhouse_binary_fn *row, void *data)
{
	struct clickhouse_inflow in = {.binary = row, .data = data};
	int r = run_query(c, sql, parameters, &in);

	str_free(&in.rest);
	return r;
}

int64_t clickhouse_read_int64(struct reader *in)
{
	int64_t value = 0;

	if (in->end - in->at < (ptrdiff_t)sizeof(value)) {
		in->bad = true;
		in->at = in->end;
		return 0;
	}
	memcpy(&value, in->at, sizeof(value));
	in->at += sizeof(value);
	return value;
}

double clickhouse_read_float64(struct reader *in)
{
	int64_t bits = clickhouse_read_int64(in);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}
