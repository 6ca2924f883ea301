/* Tables as text: CSV, TSV, ';' and '|'.
 *
 *   wide   time,host,cpu,mem            a row a moment and server; without a server column a file is a server
 *   long   time,host,metric,value       a row a value
 *   levels microservice,a,a,b           several header rows, each with its name in the first column: one of them is the
 *          metric,latency,requests,...  server, the others joined are the counter; a row a moment of all servers
 *          statistic,Average,Sum,...
 *          unix_timestamp,,,
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "model/fleet-source.h"
#include "source/files.h"
#include "source/number.h"
#include "source/stream.h"
#include "source/timestamp.h"

#define SAMPLE_ROWS	50
#define HEADER_ROWS_MAX 6
#define DEFAULT_STEP	(60 * 1000000000ll)
#define TEXT_SHOWN	40 /* of a field in a report */

static const char *const endings[] = {".csv", ".tsv", ".tab", NULL};

enum use { USE_NOTHING, USE_TIME, USE_SERVER, USE_ROLE, USE_UNIT, USE_COUNTER, USE_VALUE, USE_NUMBER };

struct column {
	char *name;
	enum use use;
	int server; /* of header levels; -1 = the row's */
	int counter;
	uint32_t place; /* in `values` */
};

/* Neighbouring places that go to one server. */
struct group {
	int server;
	uint32_t first, n;
};

struct field {
	char *at, *end;
};

/* The last text of a column and what it meant: rows repeat it. */
struct memory {
	char text[128];
	size_t n;
	int64_t meaning;
};

struct table {
	const struct fleet_input *input;
	struct intake *into;
	const char *path, *name;
	uint64_t line;
	char delimiter, point;
	VEC(struct column) columns;
	VEC(struct group) groups;
	int *counters;	/* by place */
	double *values;
	uint32_t n_places;
	bool is_long, has_time, has_server;
	int own_server; /* of a file without a server column; -1 = not needed yet */
	int64_t rows;
	struct memory time, server, counter;
	/* of the row being read */
	int row_server, row_counter;
	int64_t row_time;
	double row_value;
	const char *wrong;
};

/* --- fields --- */

/* Splits off one field at *p; quotes are taken off in place. `end` is the line's end. */
static struct field next_field(char **p, char *end, char delimiter)
{
	struct field f = {*p, *p};
	char *to = *p;

	if (**p != '"' || *p == end) {
		f.end = memchr(*p, delimiter, (size_t)(end - *p));
		f.end = f.end ? f.end : end;
		*p = f.end < end ? f.end + 1 : end + 1;
		return f;
	}
	for (char *c = *p + 1;; c++) {
		if (c >= end || (*c == '"' && c + 1 < end && c[1] != '"') || (*c == '"' && c + 1 >= end)) {
			f.end = to;
			c = c < end ? memchr(c, delimiter, (size_t)(end - c)) : NULL;
			*p = c ? c + 1 : end + 1;
			return f;
		}
		c += *c == '"';
		*to++ = *c;
	}
}

static void trim(struct field *f)
{
	while (f->at < f->end && isspace((unsigned char)*f->at))
		f->at++;
	while (f->end > f->at && isspace((unsigned char)f->end[-1]))
		f->end--;
}

/* With a point, or as tables between semicolons write them, with a comma. */
static bool is_number(const struct field *f)
{
	char copy[TEXT_SHOWN + 1], *comma;
	size_t n = (size_t)(f->end - f->at);
	double value;

	if (parse_number_slowly(f->at, f->end, &value))
		return true;
	if (n > TEXT_SHOWN)
		return false;
	memcpy(copy, f->at, n);
	copy[n] = 0;
	comma = strchr(copy, ',');
	if (comma)
		*comma = '.';
	return comma && parse_number_slowly(copy, copy + n, &value);
}

static bool is_time(const struct field *f)
{
	int64_t time;

	return f->at < f->end && parse_timestamp(f->at, f->end, &time) == 0;
}

/* --- the sample: a file's first rows, to find out how it is written --- */

struct sample_row {
	VEC(struct field) fields;
};

struct sample {
	char *text; /* a copy, which fields point into */
	struct sample_row rows[SAMPLE_ROWS];
	size_t n;
	size_t headers;
};

static void sample_free(struct sample *s)
{
	for (size_t i = 0; i < s->n; i++)
		VEC_FREE(s->rows[i].fields);
	free(s->text);
}

static char find_delimiter(const char *line, size_t n)
{
	static const char candidates[] = ",\t;|";
	size_t best = 0;
	char found = ',';

	for (const char *c = candidates; *c; c++) {
		size_t count = 0;
		bool quoted = false;

		for (size_t i = 0; i < n; i++) {
			quoted ^= line[i] == '"';
			count += line[i] == *c && !quoted;
		}
		if (count > best) {
			best = count;
			found = *c;
		}
	}
	return found;
}

static int split_row(char *line, char *end, char delimiter, struct sample_row *ret)
{
	for (char *p = line; p <= end;) {
		struct field f = next_field(&p, end, delimiter);

		trim(&f);
		if (VEC_PUSH(ret->fields, f) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int take_sample(struct table *t, const char *piece, size_t n, struct sample *s)
{
	char *p, *end;

	s->text = malloc(n + 1);
	if (!s->text)
		return -ENOMEM;
	memcpy(s->text, piece, n + 1);
	for (p = s->text; s->n < SAMPLE_ROWS && p < s->text + n; p = end + 1) {
		char *stop;

		end = memchr(p, '\n', (size_t)(s->text + n - p));
		stop = end > p && end[-1] == '\r' ? end - 1 : end;
		if (!s->n && !t->delimiter)
			t->delimiter = find_delimiter(p, (size_t)(stop - p));
		if (split_row(p, stop, t->delimiter, &s->rows[s->n++]) < 0)
			return -ENOMEM;
	}
	t->point = t->delimiter == ';' ? ',' : '.';
	return 0;
}

/* A header row has words: its first field is no number and no time, and (but for the first row, where names may look
 * like numbers) no other field is a number. */
static bool is_header(const struct sample *s, size_t row)
{
	const struct sample_row *r = &s->rows[row];

	if (!r->fields.n || is_time(&r->fields.v[0]) || (row && r->fields.n != s->rows[0].fields.n))
		return false;
	for (size_t i = 1; row && i < r->fields.n; i++)
		if (is_number(&r->fields.v[i]) || is_time(&r->fields.v[i]))
			return false;
	return true;
}

static bool any_numbers(const struct sample *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->rows[i].fields.n; k++)
			if (is_number(&s->rows[i].fields.v[k]))
				return true;
	return false;
}

static void count_headers(struct sample *s)
{
	if (!any_numbers(s))
		return;
	while (s->headers < s->n && s->headers < HEADER_ROWS_MAX && is_header(s, s->headers))
		s->headers++;
}

/* Whether the column's sampled fields are mostly so: a stray word must not turn numbers into text. */
static bool column_is(const struct sample *s, size_t column, bool (*is)(const struct field *f))
{
	size_t yes = 0, all = 0;

	for (size_t i = s->headers; i < s->n; i++) {
		const struct field *f;

		if (column >= s->rows[i].fields.n)
			continue;
		f = &s->rows[i].fields.v[column];
		if (f->at == f->end)
			continue;
		all++;
		yes += is(f);
	}
	return all && yes * 2 > all;
}

static bool column_is_empty(const struct sample *s, size_t column)
{
	for (size_t i = s->headers; i < s->n; i++)
		if (column < s->rows[i].fields.n && s->rows[i].fields.v[column].at < s->rows[i].fields.v[column].end)
			return false;
	return true;
}

/* --- what each column is --- */

static const char *const time_names[] = {"time", "timestamp", "datetime", "date", "@timestamp", "ts", "_time", "unix_timestamp",
					 "epoch", "unixtime", "date_time", "timestamp_ms", NULL};
static const char *const server_names[] = {"server", "host", "hostname", "instance", "node", "machine", "nodename",
					   "server_name", "host_name", "podname", "pod", "pod_name", "servicename",
					   "service", "service_name", "microservice", "component", "container", "entity",
					   "device", NULL};
static const char *const counter_names[] = {"counter", "metric", "metric_name", "metricname", "counter_name", "feature",
					    "variable", "kpi", "series", "name", NULL};
static const char *const value_names[] = {"value", "val", "_value", "v", NULL};
static const char *const role_names[] = {"role", "group", "tier", "pool", NULL};
static const char *const unit_names[] = {"unit", "units", NULL};

static int rank_of(const char *name, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (strcasecmp(name, names[i]) == 0)
			return i;
	return -1;
}

/* The column called as given, or (where nothing was given) the first of `names` that `is` what it must be. */
static int choose_column(const struct table *t, const struct sample *s, const char *given, const char *const *names,
			 bool (*is)(const struct field *f), bool wanted)
{
	int best = -1, best_rank = 1000;

	for (size_t i = 0; i < t->columns.n; i++) {
		const struct column *c = &t->columns.v[i];
		int rank = given ? strcasecmp(c->name, given) == 0 ? 0 : -1 : rank_of(c->name, names);

		if (rank < 0 || rank >= best_rank || c->use != USE_NOTHING)
			continue;
		if (!given && is && column_is(s, i, is) != wanted)
			continue;
		best = (int)i;
		best_rank = rank;
	}
	return best;
}

static char *field_text(const struct field *f)
{
	return strndup(f->at, (size_t)(f->end - f->at));
}

static int name_columns(struct table *t, const struct sample *s)
{
	size_t n = s->rows[0].fields.n;

	for (size_t i = 0; i < n; i++) {
		struct column c = {.server = -1};

		if (!s->headers) {
			if (asprintf(&c.name, "c%zu", i + 1) < 0)
				return -ENOMEM;
		} else {
			c.name = field_text(&s->rows[0].fields.v[i]);
		}
		if (!c.name || VEC_PUSH(t->columns, c) < 0) {
			free(c.name);
			return -ENOMEM;
		}
	}
	return 0;
}

static bool set_use(struct table *t, int column, enum use use)
{
	if (column >= 0)
		t->columns.v[column].use = use;
	return column >= 0;
}

/* Several header rows: which of them names servers. */
static size_t server_level(const struct table *t, const struct sample *s)
{
	for (size_t i = 0; i < s->headers; i++) {
		_cleanup_free_ char *label = field_text(&s->rows[i].fields.v[0]);

		if (!label)
			continue;
		if (t->input->server_column ? strcasecmp(label, t->input->server_column) == 0 :
					      rank_of(label, server_names) >= 0)
			return i;
	}
	return 0;
}

static int name_level(struct table *t, const struct sample *s, size_t column, size_t server_row)
{
	struct column *c = &t->columns.v[column];
	_cleanup_free_ char *server = field_text(&s->rows[server_row].fields.v[column]);
	_cleanup_str_ struct str counter = {};

	for (size_t i = 0; i < s->headers; i++) {
		const struct field *f = &s->rows[i].fields.v[column];

		if (i == server_row || f->at == f->end)
			continue;
		if (counter.len)
			str_putc(&counter, '.');
		str_append(&counter, f->at, (size_t)(f->end - f->at));
	}
	if (!server || counter.error)
		return -ENOMEM;
	free(c->name);
	c->name = strdup(counter.len ? counter.data : "value");
	c->server = *server ? intake_server(t->into, server) : -1;
	c->use = *server ? USE_NUMBER : USE_NOTHING;
	return c->name && c->server >= -1 ? 0 : -ENOMEM;
}

static int use_levels(struct table *t, const struct sample *s)
{
	size_t level = server_level(t, s);

	t->has_time = t->has_server = true;
	t->columns.v[0].use = USE_TIME;
	for (size_t i = 1; i < t->columns.n; i++)
		if (name_level(t, s, i, level) < 0)
			return -ENOMEM;
	return 0;
}

static const char *missing_given(const struct table *t)
{
	const char *const given[] = {t->input->time_column, t->input->server_column, t->input->counter_column,
				     t->input->value_column};

	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		bool found = !given[i];

		for (size_t k = 0; k < t->columns.n && !found; k++)
			found = strcasecmp(t->columns.v[k].name, given[i]) == 0;
		if (!found)
			return given[i];
	}
	return NULL;
}

/* The first column of a table without a header, or with an unnamed one, may hold the time all the same. */
static int time_by_content(const struct table *t, const struct sample *s)
{
	int64_t time, before = INT64_MIN;

	if (s->headers && *t->columns.v[0].name)
		return -1;
	for (size_t i = s->headers; i < s->n; i++) {
		const struct field *f = &s->rows[i].fields.v[0];

		if (!s->rows[i].fields.n || parse_timestamp(f->at, f->end, &time) < 0 || time < before)
			return -1;
		before = time;
	}
	return before > 1000000000ll * 100000000 ? 0 : -1;
}

static void find_uses(struct table *t, const struct sample *s)
{
	const struct fleet_input *in = t->input;
	int time = choose_column(t, s, in->time_column, time_names, is_time, true), value, counter;

	t->has_time = set_use(t, time >= 0 ? time : time_by_content(t, s), USE_TIME);
	t->has_server = set_use(t, choose_column(t, s, in->server_column, server_names, is_number, false), USE_SERVER);
	if (!t->has_server) /* servers may be numbers, but only under a name that means nothing else */
		t->has_server = set_use(t, choose_column(t, s, in->server_column, (const char *const[]){"server", "host", "hostname", "node", NULL}, NULL, true), USE_SERVER);
	set_use(t, choose_column(t, s, NULL, role_names, is_number, false), USE_ROLE);
	value = choose_column(t, s, in->value_column, value_names, is_number, true);
	counter = choose_column(t, s, in->counter_column, counter_names, is_number, false);
	t->is_long = value >= 0 && counter >= 0;
	if (t->is_long) {
		set_use(t, value, USE_VALUE);
		set_use(t, counter, USE_COUNTER);
		set_use(t, choose_column(t, s, NULL, unit_names, is_number, false), USE_UNIT);
		return;
	}
	for (size_t i = 0; i < t->columns.n; i++)
		if (t->columns.v[i].use == USE_NOTHING && (column_is(s, i, is_number) || column_is_empty(s, i)))
			t->columns.v[i].use = USE_NUMBER;
}

/* A second clock is no counter, whichever one is believed. */
static void drop_second_clocks(struct table *t, const struct sample *s)
{
	for (size_t i = 0; t->has_time && i < t->columns.n; i++) {
		struct column *c = &t->columns.v[i];
		int64_t time;

		if (c->use != USE_NUMBER || rank_of(c->name, time_names) < 0 || s->n <= s->headers ||
		    i >= s->rows[s->headers].fields.n)
			continue;
		if (parse_timestamp(s->rows[s->headers].fields.v[i].at, s->rows[s->headers].fields.v[i].end, &time) == 0)
			c->use = USE_NOTHING;
	}
}

/* "CpuUsage(m)" and "mem [MiB]" tell their unit. */
static char *unit_in_name(const char *name)
{
	size_t n = strlen(name);
	const char *open = n < 3 ? NULL : name[n - 1] == ')' ? strrchr(name, '(') : name[n - 1] == ']' ? strrchr(name, '[') : NULL;

	return open && open > name && open[1] ? strndup(open + 1, (size_t)(name + n - 1 - open - 1)) : NULL;
}

static bool wanted(const struct table *t, const char *counter)
{
	return !t->input->match || fnmatch(t->input->match, counter, 0) == 0;
}

static bool name_is_taken(const struct table *t, size_t column)
{
	const struct column *c = &t->columns.v[column];

	for (size_t i = 0; i < column && column < 4096; i++)
		if (t->columns.v[i].use == USE_NUMBER && t->columns.v[i].server == c->server &&
		    t->columns.v[i].counter == c->counter)
			return true;
	return false;
}

static int register_counter(struct table *t, size_t column)
{
	struct column *c = &t->columns.v[column];
	_cleanup_free_ char *unit = unit_in_name(c->name), *other = NULL;
	struct counter_info info = {.unit = unit};

	c->counter = intake_counter(t->into, c->name, &info);
	if (c->counter < 0)
		return c->counter;
	if (!name_is_taken(t, column))
		return 0;
	if (asprintf(&other, "%s#%zu", c->name, column + 1) < 0)
		return -ENOMEM;
	c->counter = intake_counter(t->into, other, &info);
	return c->counter < 0 ? c->counter : 0;
}

static int compare_columns(const void *a, const void *b)
{
	const struct column *x = *(struct column *const *)a, *y = *(struct column *const *)b;

	return x->server != y->server ? x->server < y->server ? -1 : 1 : x < y ? -1 : x > y;
}

/* Places in the order of servers, so that each server's values lie together. */
static int place_columns(struct table *t)
{
	_cleanup_free_ struct column **order = malloc((t->columns.n + 1) * sizeof(struct column *));

	t->counters = malloc((t->columns.n + 1) * sizeof(*t->counters));
	t->values = malloc((t->columns.n + 1) * sizeof(*t->values));
	if (!order || !t->counters || !t->values)
		return -ENOMEM;
	for (size_t i = 0; i < t->columns.n; i++)
		if (t->columns.v[i].use == USE_NUMBER)
			order[t->n_places++] = &t->columns.v[i];
	qsort(order, t->n_places, sizeof(struct column *), compare_columns);
	for (uint32_t i = 0; i < t->n_places; i++) {
		order[i]->place = i;
		t->counters[i] = order[i]->counter;
		if (i && order[i]->server == order[i - 1]->server)
			t->groups.v[t->groups.n - 1].n++;
		else if (VEC_PUSH(t->groups, (struct group){order[i]->server, i, 1}) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int lay_out(struct table *t, const struct sample *s)
{
	const char *missing;
	int r = name_columns(t, s);

	if (r < 0)
		return r;
	missing = s->headers > 1 ? NULL : missing_given(t);
	if (missing) {
		intake_bad(t->into, t->path, 1, "there is no column '%s'", missing);
		return -ENOMSG;
	}
	if (s->headers > 1)
		r = use_levels(t, s);
	else
		find_uses(t, s);
	drop_second_clocks(t, s);
	for (size_t i = 0; r == 0 && i < t->columns.n; i++) {
		struct column *c = &t->columns.v[i];

		if (c->use == USE_NUMBER && !wanted(t, c->name))
			c->use = USE_NOTHING;
		if (c->use == USE_NUMBER)
			r = register_counter(t, i);
	}
	return r < 0 ? r : place_columns(t);
}

/* --- rows --- */

static const char *shown(const struct field *f, char buf[TEXT_SHOWN + 1])
{
	size_t n = (size_t)(f->end - f->at);

	n = n < TEXT_SHOWN ? n : TEXT_SHOWN;
	memcpy(buf, f->at, n);
	buf[n] = 0;
	return buf;
}

static bool remembered(const struct memory *m, const struct field *f)
{
	size_t n = (size_t)(f->end - f->at);

	return n == m->n && n && memcmp(m->text, f->at, n) == 0;
}

static void remember(struct memory *m, const struct field *f, int64_t meaning)
{
	size_t n = (size_t)(f->end - f->at);

	m->n = n <= sizeof(m->text) ? n : 0;
	memcpy(m->text, f->at, m->n);
	m->meaning = meaning;
}

static int take_time(struct table *t, struct field *f)
{
	if (!remembered(&t->time, f)) {
		int64_t time;

		if (parse_timestamp(f->at, f->end, &time) < 0) {
			t->wrong = "no time";
			return 0;
		}
		remember(&t->time, f, time);
	}
	t->row_time = t->time.meaning;
	return 0;
}

static int take_server(struct table *t, struct field *f)
{
	if (!remembered(&t->server, f)) {
		int id;

		trim(f);
		*f->end = 0;
		if (!*f->at) {
			t->wrong = "no server";
			return 0;
		}
		id = intake_server(t->into, f->at);
		if (id < 0)
			return id;
		remember(&t->server, f, id);
	}
	t->row_server = (int)t->server.meaning;
	return 0;
}

static int take_counter(struct table *t, struct field *f)
{
	if (!remembered(&t->counter, f)) {
		int id = -1;

		trim(f);
		*f->end = 0;
		if (!*f->at) {
			t->wrong = "no counter's name";
			return 0;
		}
		if (wanted(t, f->at))
			id = intake_counter(t->into, f->at, NULL);
		if (id == -ENOMEM)
			return id;
		remember(&t->counter, f, id);
	}
	t->row_counter = (int)t->counter.meaning;
	return 0;
}

static void take_number(struct table *t, struct field *f, double *ret)
{
	char comma[TEXT_SHOWN + 1], text[TEXT_SHOWN + 1];

	*ret = NAN;
	trim(f);
	if (f->at == f->end || parse_number_slowly(f->at, f->end, ret))
		return;
	if (t->point == ',' && f->end - f->at <= TEXT_SHOWN) {
		char *point = strchr(shown(f, comma), ',');

		if (point)
			*point = '.';
		if (parse_number_slowly(comma, comma + (f->end - f->at), ret))
			return;
	}
	intake_bad(t->into, t->path, t->line, "'%s' is no number", shown(f, text));
}

static int take_field(struct table *t, const struct column *c, struct field *f)
{
	switch (c->use) {
	case USE_TIME:
		return take_time(t, f);
	case USE_SERVER:
		return take_server(t, f);
	case USE_COUNTER:
		return take_counter(t, f);
	case USE_VALUE:
		take_number(t, f, &t->row_value);
		return 0;
	case USE_NUMBER:
		take_number(t, f, &t->values[c->place]);
		return 0;
	default:
		return 0;
	}
}

/* A row's role and unit may stand before what they belong to. */
static int take_descriptions(struct table *t, struct field *role, struct field *unit)
{
	int r = 0;

	if (role->at && role->at < role->end && t->row_server >= 0) {
		*role->end = 0;
		r = intake_role(t->into, t->row_server, role->at);
	}
	if (r == 0 && unit->at && unit->at < unit->end && t->row_counter >= 0 && t->counter.n && t->counter.n < sizeof(t->counter.text)) {
		struct counter_info info = {.unit = unit->at};

		*unit->end = 0;
		t->counter.text[t->counter.n] = 0;
		r = intake_counter(t->into, t->counter.text, &info);
	}
	return r < 0 ? r : 0;
}

/* The common case: a plain number and a delimiter, or nothing and a delimiter. NULL for all else. */
static inline char *quick_number(const struct table *t, char *p, const char *end, double *ret)
{
	const char *after;

	if (*p == t->delimiter && p < end) {
		*ret = NAN;
		return p + 1;
	}
	after = parse_plain_number(p, t->point, ret);
	return after && (after == end || *after == t->delimiter) ? (char *)after + 1 : NULL;
}

/* All fields of a row, up to where it ends; how many, or -ENOMEM. */
static int take_fields(struct table *t, char *p, char *end)
{
	struct field role = {}, unit = {};
	size_t i;
	int r = 0;

	for (i = 0; i < t->columns.n && p <= end && r == 0; i++) {
		const struct column *c = &t->columns.v[i];
		char *after = c->use == USE_NUMBER ? quick_number(t, p, end, &t->values[c->place]) : NULL;
		struct field f;

		if (after) {
			p = after;
			continue;
		}
		f = next_field(&p, end, t->delimiter);
		if (c->use == USE_ROLE)
			role = f;
		else if (c->use == USE_UNIT)
			unit = f;
		else
			r = take_field(t, c, &f);
	}
	for (; p <= end; i++)
		(void)next_field(&p, end, t->delimiter);
	if (r == 0 && !t->wrong)
		r = take_descriptions(t, &role, &unit);
	return r < 0 ? r : (int)i;
}

static int own_server(struct table *t)
{
	if (t->own_server < 0)
		t->own_server = intake_server(t->into, t->name);
	return t->own_server;
}

static int put_row(struct table *t)
{
	int r = 0;

	if (t->row_time < t->input->from || t->row_time >= t->input->to)
		return 0;
	if (t->is_long)
		return t->row_counter < 0 ? 0 : intake_put(t->into, t->row_server, t->row_counter, t->row_time, t->row_value);
	for (size_t i = 0; r == 0 && i < t->groups.n; i++) {
		const struct group *g = &t->groups.v[i];

		r = intake_row(t->into, g->server >= 0 ? g->server : t->row_server, t->row_time, g->n, t->counters + g->first,
			       t->values + g->first);
	}
	return r;
}

static int read_row(struct table *t, char *line, char *end)
{
	int n;

	if (end > line && end[-1] == '\r')
		end--;
	if (end == line)
		return 0;
	t->wrong = NULL;
	t->row_counter = -1;
	t->row_value = NAN;
	t->row_time = t->rows * (t->input->step ? t->input->step : DEFAULT_STEP);
	t->row_server = t->has_server ? -1 : own_server(t);
	if (t->row_server < -1)
		return t->row_server;
	n = take_fields(t, line, end);
	if (n < 0)
		return n;
	t->rows++;
	if ((size_t)n != t->columns.n)
		intake_bad(t->into, t->path, t->line, "%d fields instead of %zu", n, t->columns.n);
	else if (t->wrong)
		intake_bad(t->into, t->path, t->line, "%s", t->wrong);
	else
		return put_row(t);
	return 0;
}

static int read_piece(struct table *t, char *piece, size_t n, size_t skip_lines)
{
	int r = 0;

	for (char *p = piece, *end; r == 0 && p < piece + n; p = end + 1) {
		end = memchr(p, '\n', (size_t)(piece + n - p));
		t->line++;
		if (t->line > skip_lines)
			r = read_row(t, p, end);
	}
	return r;
}

/* -ENOMSG: no table of counters; reported. */
static int begin(struct table *t, const char *piece, size_t n, size_t *ret_headers)
{
	struct sample s = {};
	int r = take_sample(t, piece, n, &s);

	if (r == 0 && (!s.n || !any_numbers(&s))) {
		intake_bad(t->into, t->path, 0, "no numbers in the first %zu lines", s.n);
		r = -ENOMSG;
	}
	if (r == 0) {
		count_headers(&s);
		r = lay_out(t, &s);
	}
	if (r == 0 && !t->is_long && !t->n_places) {
		if (!t->input->match)
			intake_bad(t->into, t->path, 1, "no column of numbers besides time and server");
		r = -ENOMSG;
	}
	*ret_headers = s.headers;
	sample_free(&s);
	return r;
}

static void table_free(struct table *t)
{
	for (size_t i = 0; i < t->columns.n; i++)
		free(t->columns.v[i].name);
	VEC_FREE(t->columns);
	VEC_FREE(t->groups);
	free(t->counters);
	free(t->values);
}

static size_t byte_order_mark(const char *piece, size_t n)
{
	return n >= 3 && memcmp(piece, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static int read_table(struct table *t, struct stream *s, uint64_t done, uint64_t total)
{
	size_t n, headers = 0;
	char *piece;
	int r = stream_next(s, &piece, &n);

	if (r == 1) {
		size_t mark = byte_order_mark(piece, n);

		piece += mark;
		n -= mark;
		r = begin(t, piece, n, &headers);
		if (r == 0)
			r = 1;
	}
	while (r == 1) {
		r = read_piece(t, piece, n, headers);
		intake_progress(t->into, done + stream_done(s), total);
		if (r == 0)
			r = stream_next(s, &piece, &n);
	}
	if (r == -EBADMSG || r == -EIO)
		intake_bad(t->into, t->path, t->line, "cannot be read further: %s",
			   r == -EIO ? "input/output error" : "the archive is damaged, or a line is too long");
	if (r == 0 && !t->has_time && t->rows)
		intake_remark(t->into, "%s has no column of times: its rows are taken as %lld s apart", t->path,
			      (long long)((t->input->step ? t->input->step : DEFAULT_STEP) / 1000000000));
	if (t->own_server >= 0)
		intake_server_done(t->into, t->own_server);
	return r == -ENOMEM ? r : 0;
}

static int load_file(const struct fleet_input *input, struct intake *into, const char *path, const char *name, uint64_t done,
		     uint64_t total)
{
	struct table t = {.input = input, .into = into, .path = path, .name = name, .own_server = -1};
	struct stream *s;
	int r = stream_open(path, &s);

	if (r < 0) {
		intake_bad(into, path, 0, "%s", strerror(-r));
		return r == -ENOMEM ? r : 0;
	}
	if (input->delimiter)
		t.delimiter = strcmp(input->delimiter, "tab") == 0 ? '\t' : input->delimiter[0];
	r = read_table(&t, s, done, total);
	stream_close(s);
	table_free(&t);
	return r;
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct file_list files;
	uint64_t done = 0;
	int r = list_files(input->location, endings, &files);

	if (r < 0) {
		if (asprintf(ret_error, "%s: %s", input->location,
			     r == -ENOENT ? "there is no such file, and no .csv or .tsv file in a folder of this name" : strerror(-r)) < 0)
			*ret_error = NULL;
		return r;
	}
	for (size_t i = 0; r == 0 && i < files.paths.n; i++) {
		struct file_list one;

		r = load_file(input, into, files.paths.v[i], files.names.v[i], done, files.bytes);
		if (list_files(files.paths.v[i], endings, &one) == 0) {
			done += one.bytes;
			file_list_free(&one);
		}
	}
	file_list_free(&files);
	return r;
}

/* Two lines at least, and a delimiter in the first. */
static int look(const char *piece, size_t n)
{
	const char *second = *piece != '{' ? memchr(piece, '\n', n) : NULL;

	if (!second || second + 1 >= piece + n)
		return 0;
	return memchr(piece, find_delimiter(piece, (size_t)(second - piece)), (size_t)(second - piece)) ? 20 : 0;
}

static int recognise(const char *location)
{
	return recognise_files(location, endings, look);
}

const struct fleet_source fleet_source_csv = {
	.name = "csv",
	.help = "CSV or TSV files (also gz, zst, xz): wide, long, or with several header rows",
	.recognise = recognise,
	.load = load,
};
