#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/formats/csv-table.h"
#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/input/timestamp.h"

#define SAMPLE_ROWS	50
#define HEADER_ROWS_MAX 6
#define YEAR_2000 (946684800ll * 1000000000)
#define YEAR_2040 (2208988800ll * 1000000000)

/* --- how columns are called --- */

static const char *const time_names[] = {"time", "timestamp", "datetime", "date", "@timestamp", "ts", "_time", "unix_timestamp",
					 "epoch", "unixtime", "date_time", "timestamp_ms", "time_utc", "datetime_utc", NULL};
static const char *const server_names[] = {"server", "host", "hostname", "instance", "node", "machine", "nodename",
					   "server_name", "host_name", "podname", "pod", "pod_name", "servicename",
					   "service", "service_name", "microservice", "component", "container", "entity",
					   "device", NULL};
static const char *const counter_names[] = {"counter", "metric", "metric_name", "metricname", "counter_name", "feature",
					    "variable", "kpi", "series", "name", NULL};
static const char *const value_names[] = {"value", "val", "_value", "v", NULL};
static const char *const role_names[] = {"role", "group", "tier", "pool", NULL};
static const char *const number_names[] = {"index", "id", "gpu", "core", "pid", "port", NULL}; /* columns of numbers that tell things apart */
static const char *const unit_names[] = {"unit", "units", NULL};

static int rank_of(const char *name, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (strcasecmp(name, names[i]) == 0)
			return i;
	return -1;
}

static bool is_name_of_column(const struct csv_field *f)
{
	static const char *const *const all[] = {time_names, server_names, counter_names, value_names, role_names};
	_cleanup_free_ char *name = strndup(f->at, (size_t)(f->end - f->at));

	for (size_t i = 0; name && i < ARRAY_SIZE(all); i++)
		if (rank_of(name, all[i]) >= 0)
			return true;
	return false;
}

/* --- the sample: a file's first rows, to find out how it is written --- */

struct sample_row {
	VEC(struct csv_field) fields;
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

char csv_find_delimiter(const char *line, size_t n)
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
		if (count > best || (count && count == best && found == '\t')) { /* ";\t": the tab is a blank */
			best = count;
			found = *c;
		}
	}
	return found;
}

static int split_row(char *line, char *end, char delimiter, struct sample_row *ret)
{
	for (char *p = line; p <= end;) {
		struct csv_field f = csv_next_field(&p, end, delimiter);

		csv_trim(&f);
		if (VEC_PUSH(ret->fields, f) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int take_sample(struct csv_table *t, const char *piece, size_t n, struct sample *s)
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
			t->delimiter = csv_find_delimiter(p, (size_t)(stop - p));
		if (split_row(p, stop, t->delimiter, &s->rows[s->n++]) < 0)
			return -ENOMEM;
	}
	t->point = t->delimiter == ';' ? ',' : '.';
	return 0;
}

static bool is_quantity(const struct csv_field *f)
{
	char unit[QUANTITY_UNIT_MAX];
	double value;

	return csv_is_number(f) || quantity_parse(f->at, f->end, &value, unit);
}

static bool any_numbers(const struct sample *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->rows[i].fields.n; k++)
			if (is_quantity(&s->rows[i].fields.v[k]))
				return true;
	return false;
}

/* Whether the first row names columns: one of them is called as such columns are, or has a word above numbers or times. */
static bool names_columns(const struct sample *s)
{
	const struct sample_row *r = &s->rows[0];
	size_t numbers = 0;

	for (size_t i = 0; i < r->fields.n; i++) {
		const struct csv_field *f = &r->fields.v[i];
		size_t below = 0;

		numbers += is_quantity(f) || csv_is_time(f);
		if (is_name_of_column(f))
			return true;
		for (size_t k = 1; k < s->n; k++)
			below += i < s->rows[k].fields.n && (is_quantity(&s->rows[k].fields.v[i]) || csv_is_time(&s->rows[k].fields.v[i]));
		if (below * 2 > s->n - 1 && f->at < f->end && !is_quantity(f) && !csv_is_time(f))
			return true;
	}
	return !numbers;
}

/* A header row has words: its first field is not a number and no time, and (but for the first row, where names may look
 * like numbers) no other field is a number. */
static bool is_header(const struct sample *s, size_t row)
{
	const struct sample_row *r = &s->rows[row];

	if (!row && !names_columns(s))
		return false;
	if (!r->fields.n || csv_is_time(&r->fields.v[0]) || (row && r->fields.n != s->rows[0].fields.n))
		return false;
	for (size_t i = 1; row && i < r->fields.n; i++)
		if (is_quantity(&r->fields.v[i]) || csv_is_time(&r->fields.v[i]))
			return false;
	return true;
}

static void count_headers(struct sample *s)
{
	if (!any_numbers(s))
		return;
	while (s->headers < s->n && s->headers < HEADER_ROWS_MAX && is_header(s, s->headers))
		s->headers++;
}

/* Whether the column's sampled fields are mostly so: a stray word must not turn numbers into text. */
static bool column_is(const struct sample *s, size_t column, bool (*is)(const struct csv_field *f))
{
	size_t yes = 0, all = 0;

	for (size_t i = s->headers; i < s->n; i++) {
		const struct csv_field *f;

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

/* The column called as given, or (where nothing was given) the first of `names` that `is` what it must be. */
static int choose_column(const struct csv_table *t, const struct sample *s, const char *given, const char *const *names,
			 bool (*is)(const struct csv_field *f), bool wanted)
{
	int best = -1, best_rank = 1000;

	for (size_t i = 0; i < t->columns.n; i++) {
		const struct csv_column *c = &t->columns.v[i];
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

static char *field_text(const struct csv_field *f)
{
	return strndup(f->at, (size_t)(f->end - f->at));
}

static int name_columns(struct csv_table *t, const struct sample *s)
{
	size_t n = s->rows[0].fields.n;

	for (size_t i = 0; i < n; i++) {
		struct csv_column c = {.server = -1};

		if (!s->headers) {
			if (asprintf(&c.name, "c%zu", i + 1) < 0)
				return -ENOMEM;
		} else {
			c.name = field_text(&s->rows[0].fields.v[i]);
		}
		if (VEC_PUSH_OWNER(t->columns, c.name, c) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool set_use(struct csv_table *t, int column, enum csv_use use)
{
	if (column >= 0)
		t->columns.v[column].use = use;
	return column >= 0;
}

/* Several header rows: which of them names servers. */
static size_t server_level(const struct csv_table *t, const struct sample *s)
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

static int name_level(struct csv_table *t, const struct sample *s, size_t column, size_t server_row)
{
	struct csv_column *c = &t->columns.v[column];
	_cleanup_free_ char *server = field_text(&s->rows[server_row].fields.v[column]);
	_cleanup_str_ struct str counter = {};

	for (size_t i = 0; i < s->headers; i++) {
		const struct csv_field *f = &s->rows[i].fields.v[column];

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

static int use_levels(struct csv_table *t, const struct sample *s)
{
	size_t level = server_level(t, s);

	t->has_time = t->has_server = true;
	t->columns.v[0].use = USE_TIME;
	t->time_format = t->input->time_format;
	for (size_t i = 1; i < t->columns.n; i++)
		if (name_level(t, s, i, level) < 0)
			return -ENOMEM;
	return 0;
}

static const char *missing_given(const struct csv_table *t)
{
	const char *const given[] = {t->input->time_column, t->input->server_column, t->input->role_column, t->input->counter_column,
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

static bool is_text_time(const struct csv_field *f)
{
	return csv_is_time(f) && !csv_is_number(f);
}

/* Whether all sampled fields of a column are numbers that never fall and are times of our days. */
static bool counts_time(const struct sample *s, size_t column)
{
	int64_t time, before = YEAR_2000;

	for (size_t i = s->headers; i < s->n; i++) {
		const struct csv_field *f = column < s->rows[i].fields.n ? &s->rows[i].fields.v[column] : NULL;

		if (!f || timestamp_parse(f->at, f->end, &time) < 0 || time < before)
			return false;
		before = time;
	}
	return before > YEAR_2000 && before < YEAR_2040;
}

/* The column of times, which no name tells: texts that are times, whatever they are called; without a header, or under an empty name, numbers, too. */
static int time_by_content(const struct csv_table *t, const struct sample *s)
{
	for (size_t i = 0; i < t->columns.n; i++)
		if (t->columns.v[i].use == USE_NOTHING && column_is(s, i, is_text_time))
			return (int)i;
	for (size_t i = 0; i < t->columns.n && i < 2; i++)
		if (t->columns.v[i].use == USE_NOTHING && (!s->headers || !*t->columns.v[i].name) && counts_time(s, i))
			return (int)i;
	return -1;
}

/* A column's fields below the headers, up to SAMPLE_ROWS of them. */
static size_t column_fields(const struct sample *s, size_t column, struct csv_field *to)
{
	size_t n = 0;

	for (size_t i = s->headers; i < s->n; i++)
		if (column < s->rows[i].fields.n)
			to[n++] = s->rows[i].fields.v[column];
	return n;
}

/* The column whose texts are times of another format, the one with a time's name first. Two formats that fit are reported, and none is chosen: -1. */
static int time_by_format(struct csv_table *t, const struct sample *s)
{
	struct csv_field fields[SAMPLE_ROWS];
	const char *other;

	for (int named = 1; named >= 0; named--)
		for (size_t i = 0; i < t->columns.n; i++) {
			size_t n = column_fields(s, i, fields);

			if ((rank_of(t->columns.v[i].name, time_names) >= 0) != (named == 1) || column_is_empty(s, i))
				continue;
			t->time_format = csv_find_time_format(fields, n, &other);
			if (t->time_format)
				return (int)i;
			if (!other)
				continue;
			intake_bad(t->into, t->path, s->headers + 1, "invalid time '%.*s' in the column '%s': the day or the month may come first; give --time-format '%s' or another one",
				   (int)(fields[0].end - fields[0].at < 40 ? fields[0].end - fields[0].at : 40), fields[0].at, t->columns.v[i].name, other);
			t->refused = true;
			return -1;
		}
	return -1;
}

static bool is_clock(const struct csv_field *f)
{
	int64_t ns;

	return timestamp_parse_clock(f->at, f->end, &ns) == 0;
}

static bool is_day(const struct csv_field *f)
{
	int64_t time;

	return timestamp_parse(f->at, f->end, &time) == 0 && time % (86400ll * 1000000000) == 0 && f->end - f->at <= 10;
}

/* "date,time,...": the time of day is in a column of its own. */
static void find_clock(struct csv_table *t, const struct sample *s, int time)
{
	struct csv_field fields[SAMPLE_ROWS];

	if (t->time_format ? strpbrk(t->time_format, "HIT") != NULL : !column_is(s, (size_t)time, is_day))
		return;
	for (size_t i = 0; i < t->columns.n; i++)
		if ((int)i != time && t->columns.v[i].use == USE_NOTHING && column_fields(s, i, fields) && column_is(s, i, is_clock)) {
			t->columns.v[i].use = USE_CLOCK;
			return;
		}
}

/* The column of times and how they are written; -1 = none. */
static int find_time(struct csv_table *t, const struct sample *s)
{
	int time;

	if (csv_is_perfmon(t->columns.v[0].name)) {
		t->time_format = "%m/%d/%Y %H:%M:%S";
		t->time_zone = csv_perfmon_zone(t->columns.v[0].name);
		return 0;
	}
	if (t->input->time_format) {
		t->time_format = t->input->time_format;
		time = choose_column(t, s, t->input->time_column, time_names, NULL, true);
		return time >= 0 || s->headers ? time : 0;
	}
	time = choose_column(t, s, t->input->time_column, time_names, csv_is_time, true);
	if (t->input->time_column && time >= 0 && !column_is(s, (size_t)time, csv_is_time)) {
		struct csv_field fields[SAMPLE_ROWS];
		const char *other;

		t->time_format = csv_find_time_format(fields, column_fields(s, (size_t)time, fields), &other);
		return t->time_format ? time : -1;
	}
	if (time < 0)
		time = time_by_content(t, s);
	return time >= 0 ? time : time_by_format(t, s);
}

/* The first column of texts that nothing is known of; -1 = none. */
static int text_column(const struct csv_table *t, const struct sample *s)
{
	for (size_t i = 0; i < t->columns.n; i++)
		if (t->columns.v[i].use == USE_NOTHING && !column_is(s, i, is_quantity) && !column_is_empty(s, i))
			return (int)i;
	return -1;
}

static size_t count_numbers(const struct csv_table *t, const struct sample *s)
{
	size_t n = 0;

	for (size_t i = 0; i < t->columns.n; i++)
		n += t->columns.v[i].use == USE_NOTHING && column_is(s, i, is_quantity);
	return n;
}

/* Without names: the first text is the server; a second one before a single number the counter. */
static void find_nameless_uses(struct csv_table *t, const struct sample *s)
{
	int counter;

	if (!t->has_server)
		t->has_server = set_use(t, text_column(t, s), USE_SERVER);
	counter = text_column(t, s);
	if (counter < 0 || count_numbers(t, s) != 1)
		return;
	t->is_long = set_use(t, counter, USE_COUNTER);
	for (size_t i = 0; i < t->columns.n; i++)
		if (t->columns.v[i].use == USE_NOTHING && column_is(s, i, is_quantity))
			t->columns.v[i].use = USE_VALUE;
}

/* The uses of the other columns: numbers, and texts, which may distinguish series. */
static void find_other_uses(struct csv_table *t, const struct sample *s)
{
	for (size_t i = 0; i < t->columns.n; i++) {
		struct csv_column *c = &t->columns.v[i];

		if (c->use != USE_NOTHING)
			continue;
		if (!t->is_long && rank_of(c->name, number_names) < 0 && (column_is(s, i, is_quantity) || column_is_empty(s, i)))
			c->use = USE_NUMBER;
		else if ((!column_is(s, i, is_quantity) || rank_of(c->name, number_names) >= 0) && (!column_is(s, i, csv_is_time) || rank_of(c->name, number_names) >= 0) && !column_is(s, i, is_clock))
			c->use = t->identity.column != CSV_ALL_TEXTS && t->identity.column != (int)i ? USE_TEXT :
				 t->has_server || t->identity.column == CSV_ALL_TEXTS		  ? USE_LABEL :
													    USE_SERVER;
		t->has_server |= c->use == USE_SERVER;
		t->has_labels |= c->use == USE_LABEL;
	}
}

static void find_uses(struct csv_table *t, const struct sample *s)
{
	const struct fleet_input *in = t->input;
	int time = find_time(t, s), value, counter;

	t->has_time = set_use(t, time, USE_TIME);
	if (t->has_time)
		find_clock(t, s, time);
	t->has_server = set_use(t, choose_column(t, s, in->server_column, server_names, csv_is_number, false), USE_SERVER);
	if (!t->has_server) /* servers may be numbers, but only under a name that means nothing else */
		t->has_server = set_use(t, choose_column(t, s, in->server_column, (const char *const[]){"server", "host", "hostname", "node", NULL}, NULL, true), USE_SERVER);
	set_use(t, choose_column(t, s, in->role_column, role_names, csv_is_number, false), USE_ROLE);
	value = choose_column(t, s, in->value_column, value_names, is_quantity, true);
	counter = choose_column(t, s, in->counter_column, counter_names, csv_is_number, false);
	t->is_long = value >= 0 && counter >= 0;
	if (t->is_long) {
		set_use(t, value, USE_VALUE);
		set_use(t, counter, USE_COUNTER);
		set_use(t, choose_column(t, s, NULL, unit_names, csv_is_number, false), USE_UNIT);
	}
	if (!s->headers)
		find_nameless_uses(t, s);
	find_other_uses(t, s);
}

/* A column that is called like a time, or was given as one, and whose texts are none ("11/21/2026" may be two days): its rows must not
 * be dated 1970. */
static bool times_unreadable(const struct csv_table *t, const struct sample *s)
{
	int column = choose_column(t, s, t->input->time_column, time_names, NULL, true);
	const struct csv_field *f;

	if (t->refused)
		return true;
	if (column < 0 || s->n <= s->headers || (size_t)column >= s->rows[s->headers].fields.n)
		return false;
	f = &s->rows[s->headers].fields.v[column];
	intake_bad(t->into, t->path, s->headers + 1,
		   "invalid time '%.*s' in the column '%s'; expected 2026-11-20T14:32:07Z, 2026-11-20 14:32 (UTC), seconds since 1970, or what --time-format tells",
		   (int)(f->end - f->at < 40 ? f->end - f->at : 40), f->at, t->columns.v[column].name);
	return true;
}

/* 0, or -ENOMSG of csv_lay_out(). */
static int judge_timeless(const struct csv_table *t, const struct sample *s)
{
	if (t->has_time)
		return 0;
	if (times_unreadable(t, s))
		return -ENOMSG;
	if (!t->input->begin)
		intake_bad(t->into, t->path, 1,
			   "no column of times: name it by --time-column, or say when its first row was written and how far rows lie apart, --begin '2026-11-20 14:00' --step 5s");
	return t->input->begin ? 0 : -ENOMSG;
}

/* A second clock is no counter, whichever one is believed. */
static void drop_second_clocks(struct csv_table *t, const struct sample *s)
{
	for (size_t i = 0; t->has_time && i < t->columns.n; i++) {
		struct csv_column *c = &t->columns.v[i];
		int64_t time;

		if (c->use != USE_NUMBER || rank_of(c->name, time_names) < 0 || s->n <= s->headers ||
		    i >= s->rows[s->headers].fields.n)
			continue;
		if (timestamp_parse(s->rows[s->headers].fields.v[i].at, s->rows[s->headers].fields.v[i].end, &time) == 0)
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

bool csv_wanted(const struct csv_table *t, const char *counter)
{
	return !t->input->match || fnmatch(t->input->match, counter, 0) == 0;
}

static bool name_is_taken(const struct csv_table *t, size_t column)
{
	const struct csv_column *c = &t->columns.v[column];

	for (size_t i = 0; i < column && column < 4096; i++)
		if (t->columns.v[i].use == USE_NUMBER && t->columns.v[i].server == c->server &&
		    t->columns.v[i].counter == c->counter)
			return true;
	return false;
}

static int register_counter(struct csv_table *t, size_t column)
{
	struct csv_column *c = &t->columns.v[column];
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

ORDER_OF_POINTERS(compare_columns, struct csv_column, ASCENDING(server) ?: CMP(a, b))

/* Places in the order of servers, so that each server's values lie together. */
static int place_columns(struct csv_table *t)
{
	_cleanup_free_ struct csv_column **order = malloc((t->columns.n + 1) * sizeof(struct csv_column *));

	t->counters = malloc((t->columns.n + 1) * sizeof(*t->counters));
	t->values = malloc((t->columns.n + 1) * sizeof(*t->values));
	if (!order || !t->counters || !t->values)
		return -ENOMEM;
	for (size_t i = 0; i < t->columns.n; i++)
		if (t->columns.v[i].use == USE_NUMBER)
			order[t->n_places++] = &t->columns.v[i];
	qsort(order, t->n_places, sizeof(struct csv_column *), compare_columns);
	for (uint32_t i = 0; i < t->n_places; i++) {
		order[i]->place = i;
		t->counters[i] = order[i]->counter;
		if (i && order[i]->server == order[i - 1]->server)
			t->groups.v[t->groups.n - 1].n++;
		else if (VEC_PUSH(t->groups, (struct csv_group){order[i]->server, i, 1}) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int lay_out(struct csv_table *t, const struct sample *s)
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
	r = r == 0 ? judge_timeless(t, s) : r;
	if (r == 0 && s->headers <= 1)
		r = csv_split_names(t);
	for (size_t i = 0; r == 0 && i < t->columns.n; i++) {
		struct csv_column *c = &t->columns.v[i];

		if (c->use == USE_NUMBER && !csv_wanted(t, c->name))
			c->use = USE_NOTHING;
		if (c->use == USE_NUMBER && !t->has_labels) /* with labels each row has its own */
			r = register_counter(t, i);
	}
	return r < 0 ? r : place_columns(t);
}

/* "sep=;", which tells spreadsheets the delimiter: the length of the line, or 0. */
static size_t separator_line(struct csv_table *t, const char *piece, size_t n)
{
	const char *end = n > 6 && memcmp(piece, "sep=", 4) == 0 ? memchr(piece, '\n', n) : NULL;

	if (!end || end - piece > 6)
		return 0;
	t->delimiter = t->input->delimiter ? t->delimiter : piece[4];
	return (size_t)(end + 1 - piece);
}

int csv_lay_out(struct csv_table *t, const char *piece, size_t n, size_t *ret_headers)
{
	_cleanup_(sample_free) struct sample s = {};
	size_t skip = separator_line(t, piece, n);
	int r = take_sample(t, piece + skip, n - skip, &s);

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
	*ret_headers = s.headers + (skip > 0);
	return r;
}
