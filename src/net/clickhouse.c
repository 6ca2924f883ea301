#include "net/clickhouse.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "net/http-client.h"
#include "net/users.h"

#define ROW_MAX	     ((size_t)64 << 20) /* of an answer: groupArray of a day of seconds is 1.4 MB */
#define FIELDS_MAX   4096
#define BATCH	     ((size_t)4 << 20)
#define QUERY_TIME   (600 * NS_PER_SEC)
#define EXCEPTION    "Code: "

struct clickhouse {
	struct http_client *http;
	char *base; /* "http://host:port/?database=..." */
	char *database, *table, *cluster;
	char *error;
};

const char *clickhouse_error(const struct clickhouse *c)
{
	return c->error ? c->error : "out of memory";
}

const char *clickhouse_database(const struct clickhouse *c)
{
	return c->database;
}

const char *clickhouse_table(const struct clickhouse *c)
{
	return c->table;
}

const char *clickhouse_cluster(const struct clickhouse *c)
{
	return c->cluster;
}

/* --- the URL --- */

struct parts {
	char *text; /* the others point into it */
	const char *user, *host, *port, *database, *table, *cluster, *ca;
	bool tls, plain;
};

static int take_option(struct parts *p, const char *name, const char *value, char **ret_error)
{
	if (strcmp(name, "cluster") == 0)
		p->cluster = value;
	else if (strcmp(name, "ca") == 0)
		p->ca = value;
	else if (strcmp(name, "tls") == 0)
		p->tls = strcmp(value, "0") != 0;
	else if (strcmp(name, "plain") == 0)
		p->plain = strcmp(value, "0") != 0;
	else
		return fail_with(ret_error, -EINVAL, "clickhouse://...?%s: the options are cluster, tls, ca and plain", name);
	return 0;
}

static int take_options(struct parts *p, char *options, char **ret_error)
{
	char *rest = NULL;
	int r = 0;

	for (char *word = strtok_r(options, "&", &rest); word && r == 0; word = strtok_r(NULL, "&", &rest)) {
		char *equals = strchr(word, '=');

		if (equals)
			*equals = '\0';
		r = take_option(p, word, equals ? equals + 1 : "1", ret_error);
	}
	return r;
}

static char *cut(char *text, char at)
{
	char *found = text ? strchr(text, at) : NULL;

	if (!found)
		return NULL;
	*found = '\0';
	return found + 1;
}

static int parse_url(const char *url, struct parts *p, char **ret_error)
{
	static const char scheme[] = "clickhouse://";
	char *options, *path, *at, *port;

	if (!text_starts(url, scheme))
		return fail_with(ret_error, -EINVAL, "'%s' is no clickhouse://HOST[:PORT]/DATABASE", url);
	p->text = strdup(url + sizeof(scheme) - 1);
	if (!p->text)
		return -ENOMEM;
	options = cut(p->text, '?');
	path = cut(p->text, '/');
	at = strrchr(p->text, '@');
	p->host = at ? at + 1 : p->text;
	if (at) {
		*at = '\0';
		p->user = p->text;
		if (strchr(p->user, ':'))
			return fail_with(ret_error, -EINVAL, "a password in the URL can be read by everybody on this machine: put "
					 "USER:PASSWORD into a file of mode 600 and its name into WHYSLOW_CLICKHOUSE_CREDENTIALS");
	}
	port = *p->host == '[' ? strstr(p->host, "]:") : strrchr(p->host, ':');
	if (port) {
		port += *port == ']';
		*port = '\0';
		p->port = port + 1;
	}
	if (!*p->host)
		return fail_with(ret_error, -EINVAL, "'%s' names no host", url);
	p->table = cut(path, '/');
	p->database = path && *path ? path : NULL;
	return options ? take_options(p, options, ret_error) : 0;
}

static int find_credentials(const struct parts *p, const char *file, struct credentials *ret, char **ret_error)
{
	const char *user = getenv("WHYSLOW_CLICKHOUSE_USER"), *password = getenv("WHYSLOW_CLICKHOUSE_PASSWORD");

	if (!file)
		file = getenv("WHYSLOW_CLICKHOUSE_CREDENTIALS");
	if (file)
		return credentials_read(file, ret, ret_error);
	if (!user && !p->user)
		return 0;
	ret->user = strdup(p->user ? p->user : user);
	ret->password = strdup(password ? password : "");
	return ret->user && ret->password ? 0 : -ENOMEM;
}

static int keep(char **to, const char *text)
{
	if (text && *text)
		*to = strdup(text);
	return text && *text && !*to ? -ENOMEM : 0;
}

static int set_base(struct clickhouse *c, const struct parts *p)
{
	_cleanup_str_ struct str base = {};

	str_printf(&base, "%s://%s:%s/?", p->tls ? "https" : "http", p->host, p->port ? p->port : p->tls ? "8443" : "8123");
	if (p->database) {
		str_puts(&base, "database=");
		url_escape(&base, p->database);
	}
	if (base.error)
		return base.error;
	c->base = TAKE(base.data);
	return keep(&c->database, p->database) || keep(&c->table, p->table) || keep(&c->cluster, p->cluster) ? -ENOMEM : 0;
}

static int connect_to(struct clickhouse *c, const struct parts *p, const struct credentials *who, const char *ca_file,
		      char **ret_error)
{
	struct http_client_options options = {
		.ca_file = ca_file ? ca_file : p->ca,
		.token = who->token,
		.user = who->user,
		.password = who->password,
		.trusted_network = p->plain || (who->user && !*who->password),
		.timeout = QUERY_TIME,
	};
	int r = set_base(c, p);

	return r < 0 ? r : http_client_open(&options, &c->http, ret_error);
}

int clickhouse_open(const char *url, const char *credentials_file, const char *ca_file, struct clickhouse **ret,
		    char **ret_error)
{
	struct clickhouse *c = calloc(1, sizeof(*c));
	struct credentials who = {};
	struct parts p = {};
	int r = c ? parse_url(url, &p, ret_error) : -ENOMEM;

	if (r == 0)
		r = find_credentials(&p, credentials_file, &who, ret_error);
	if (r == 0)
		r = connect_to(c, &p, &who, ca_file, ret_error);
	credentials_free(&who);
	free(p.text);
	if (r < 0)
		clickhouse_close(c);
	else
		*ret = c;
	return r;
}

void clickhouse_close(struct clickhouse *c)
{
	if (!c)
		return;
	http_client_close(c->http);
	free(c->base);
	free(c->database);
	free(c->table);
	free(c->cluster);
	free(c->error);
	free(c);
}

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

static void put_number(struct str *out, const struct clickhouse_parameter *p)
{
	if (isnan(p->number))
		str_puts(out, "nan");
	else
		str_printf(out, "toFloat64(%.17g)", p->number);
}

static void put_strings(struct str *out, const struct clickhouse_parameter *p)
{
	str_putc(out, '(');
	for (const char *const *text = p->texts; *text; text++) {
		if (text != p->texts)
			str_puts(out, ", ");
		put_quoted(out, '\'', *text);
	}
	str_putc(out, ')');
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
	{"String", put_string},	  {"Identifier", put_identifier}, {"Int64", put_integer},
	{"Float64", put_number}, {"Strings", put_strings},	  {"Table", put_table},
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

/* --- errors --- */

static const struct {
	int code, error;
	const char *said;
} faults[] = {
	{36, -EINVAL, "the query does not fit this server"},
	{47, -EINVAL, "its table lacks a column: see docs/clickhouse.md for what is expected"},
	{16, -EINVAL, "its table lacks a column: see docs/clickhouse.md for what is expected"},
	{60, -ENOENT, "there is no such table"},
	{62, -EINVAL, "the query was not understood"},
	{81, -ENOENT, "there is no such database"},
	{159, -ETIMEDOUT, "it took longer than the server allows: ask for less time, or for one counter (--match)"},
	{160, -ETIMEDOUT, "it would take longer than the server allows: ask for less time, or for one counter (--match)"},
	{164, -EACCES, "this user may only read"},
	{192, -EACCES, "it does not know this user: see WHYSLOW_CLICKHOUSE_USER"},
	{193, -EACCES, "wrong password: see WHYSLOW_CLICKHOUSE_CREDENTIALS"},
	{194, -EACCES, "this user needs a password: see WHYSLOW_CLICKHOUSE_CREDENTIALS"},
	{195, -EACCES, "this user may not ask from this machine"},
	{209, -ETIMEDOUT, "one of its shards does not answer"},
	{210, -EREMOTEIO, "one of its shards cannot be reached"},
	{241, -ENOMEM, "it needs more memory than the server allows: ask for less time, or for one counter (--match)"},
	{279, -EREMOTEIO, "one of its shards cannot be reached"},
	{291, -EACCES, "this user may not read that database"},
	{497, -EACCES, "this user lacks the rights"},
	{516, -EACCES, "user or password is wrong: see WHYSLOW_CLICKHOUSE_CREDENTIALS"},
};

/* "Code: 60, e.displayText() = DB::Exception: Table x doesn't exist., e.what() = DB::Exception" and, from newer servers,
 * "Code: 60. DB::Exception: Table x doesn't exist. (UNKNOWN_TABLE) (version 23.8)". */
static int server_error(struct clickhouse *c, const char *text)
{
	static const char mark[] = "DB::Exception: ";
	const char *words = strstr(text, mark), *end;
	int code = 0, n;

	if (sscanf(text, EXCEPTION "%d", &code) != 1)
		return fail_again(&c->error, -EREMOTEIO, "%s: %.200s", c->base, text);
	words = words ? words + sizeof(mark) - 1 : text;
	end = strstr(words, ", e.what()");
	n = (int)(end ? (size_t)(end - words) : strcspn(words, "\n"));
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (faults[i].code == code)
			return fail_again(&c->error, faults[i].error, "ClickHouse at %s: %s (%.*s)", c->base, faults[i].said, n < 300 ? n : 300, words);
	return fail_again(&c->error, -EREMOTEIO, "ClickHouse at %s: %.*s (code %d)", c->base, n < 300 ? n : 300, words, code);
}

/* --- answers --- */

/* An answer as it comes: what is not yet a whole row waits in `rest`. */
struct inflow {
	struct clickhouse *c;
	clickhouse_row_fn *row;
	clickhouse_binary_fn *binary;
	void *data;
	struct str rest;
	uint64_t rows;
};

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

static int take_row(struct inflow *in, char *line, size_t length)
{
	char *fields[FIELDS_MAX], *end = line + length;
	size_t n = 0;

	/* an error after the first rows were sent comes as one more line of the body */
	if (text_starts(line, EXCEPTION) && strstr(line, "DB::Exception"))
		return server_error(in->c, line);
	while (line <= end) {
		char *tab = memchr(line, '\t', (size_t)(end - line));
		char *stop = tab ? tab : end;

		if (n == FIELDS_MAX)
			return fail_again(&in->c->error, -EBADMSG, "row %" PRIu64 " of the answer has more than %d fields", in->rows + 1, FIELDS_MAX);
		fields[n++] = unescape(line, (size_t)(stop - line));
		line = stop + 1;
	}
	in->rows++;
	return in->row ? in->row(in->data, n, fields) : 0;
}

static int take_rows(struct inflow *in)
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

static int take_binary_rows(struct inflow *in)
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

static int take_piece(const void *bytes, size_t n, void *data)
{
	struct inflow *in = data;
	int r = str_append(&in->rest, bytes, n);

	if (r < 0)
		return r;
	return in->binary ? take_binary_rows(in) : take_rows(in);
}

/* What is left when all has come: nothing, or the error that broke a binary answer off. */
static int take_end(struct inflow *in)
{
	const char *exception;

	if (!in->rest.len)
		return 0;
	in->rest.data[in->rest.len] = '\0';
	exception = memmem(in->rest.data, in->rest.len, EXCEPTION, strlen(EXCEPTION));
	if (exception && strstr(exception, "DB::Exception"))
		return server_error(in->c, exception);
	return fail_again(&in->c->error, -EBADMSG, "the answer ends in the middle of row %" PRIu64, in->rows + 1);
}

static int send_request(struct clickhouse *c, const struct http_request *q)
{
	struct http_reply reply = {};
	int r;

	free(c->error);
	c->error = NULL;
	r = http_send(c->http, q, &reply);
	if (r < 0 && !c->error)
		fail_again(&c->error, r, "%s", http_client_error(c->http));
	if (r != 0)
		return r;
	if (reply.status >= 300)
		r = reply.body.len ? server_error(c, reply.body.data)
				   : fail_again(&c->error, -EREMOTEIO, "%s: it failed (%u)", c->base, reply.status);
	http_reply_free(&reply);
	return r;
}

#define PACKED_FROM 1024 /* bytes of a query that are worth packing */

static int run_query(struct clickhouse *c, const char *sql, const struct clickhouse_parameter *parameters, struct inflow *in)
{
	_cleanup_str_ struct str text = {}, url = {};
	struct http_request q = {.sink = take_piece, .data = in, .content_type = "text/plain"};
	int r = clickhouse_sql(&text, sql, parameters);

	if (r < 0)
		return fail_again(&c->error, r, "a query's placeholder has no value: %s", sql);
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
	r = send_request(c, &q);
	return r == 0 ? take_end(in) : r;
}

int clickhouse_query(struct clickhouse *c, const char *sql, const struct clickhouse_parameter *parameters,
		     clickhouse_row_fn *row, void *data)
{
	struct inflow in = {.row = row, .data = data};
	int r = run_query(c, sql, parameters, &in);

	str_free(&in.rest);
	return r;
}

int clickhouse_query_binary(struct clickhouse *c, const char *sql, const struct clickhouse_parameter *parameters,
			    clickhouse_binary_fn *row, void *data)
{
	struct inflow in = {.binary = row, .data = data};
	int r = run_query(c, sql, parameters, &in);

	str_free(&in.rest);
	return r;
}

int64_t read_int64(struct reader *in)
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

double read_float64(struct reader *in)
{
	int64_t bits = read_int64(in);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* --- rows in --- */

struct clickhouse_insert {
	struct clickhouse *c;
	char *url;
	struct str batch;
	uint64_t sent, rows; /* rows of whole batches, of this batch */
	int error;
};

int clickhouse_insert_open(struct clickhouse *c, const char *table, const char *columns, struct clickhouse_insert **ret)
{
	const struct clickhouse_parameter name[] = {{"table", {.text = table}}, {}};
	_cleanup_str_ struct str sql = {}, url = {};
	struct clickhouse_insert *i;

	clickhouse_sql(&sql, "INSERT INTO {table:Table} (", name);
	str_printf(&sql, "%s) FORMAT RowBinary", columns);
	str_printf(&url, "%s%sinsert_distributed_sync=1&query=", c->base, c->database ? "&" : "");
	if (sql.error || url.error)
		return -ENOMEM;
	url_escape(&url, sql.data);
	i = url.error ? NULL : calloc(1, sizeof(*i));
	if (!i)
		return -ENOMEM;
	i->c = c;
	i->url = TAKE(url.data);
	*ret = i;
	return 0;
}

void insert_text(struct clickhouse_insert *i, const char *value)
{
	str_put_blob(&i->batch, value, strlen(value));
}

void insert_bytes(struct clickhouse_insert *i, const void *bytes, size_t n)
{
	str_put_blob(&i->batch, bytes, n);
}

void insert_count(struct clickhouse_insert *i, size_t n)
{
	str_put_varint(&i->batch, n);
}

void insert_int64(struct clickhouse_insert *i, int64_t value)
{
	str_append(&i->batch, &value, sizeof(value));
}

void insert_float64(struct clickhouse_insert *i, double value)
{
	str_append(&i->batch, &value, sizeof(value));
}

static int send_batch(struct clickhouse_insert *i)
{
	struct http_request q = {.url = i->url, .body = i->batch.data, .n = i->batch.len, .gzip = true};

	if (i->error || !i->rows)
		return i->error;
	i->error = send_request(i->c, &q);
	if (i->error < 0 && i->c->error) {
		_cleanup_free_ char *said = TAKE(i->c->error);

		fail_again(&i->c->error, i->error, "rows %" PRIu64 " to %" PRIu64 " were not taken, %" PRIu64 " before them were: %s", i->sent + 1,
		     i->sent + i->rows, i->sent, said);
	}
	i->sent += i->rows;
	i->rows = 0;
	str_clear(&i->batch);
	return i->error;
}

int insert_row(struct clickhouse_insert *i)
{
	if (i->error || i->batch.error)
		return i->error ? i->error : i->batch.error;
	i->rows++;
	return i->batch.len >= BATCH ? send_batch(i) : 0;
}

int insert_close(struct clickhouse_insert *i)
{
	int r = i->batch.error ? i->batch.error : send_batch(i);

	str_free(&i->batch);
	free(i->url);
	free(i);
	return r;
}
