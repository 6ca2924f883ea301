/* Tables as text: CSV, TSV, ';' and '|'.
 *
 *   wide   time,host,cpu,mem            a row a moment and server; without a server column a file is a server
 *   long   time,host,metric,value       a row a value
 *   levels microservice,a,a,b           several header rows, each with its name in the first column: one of them is the
 *          metric,latency,requests,...  server, the others joined are the counter; a row a moment of all servers
 *          statistic,Average,Sum,...
 *          unix_timestamp,,,
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/formats/csv-table.h"
#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/input/files.h"
#include "lib/input/number.h"
#include "lib/input/stream.h"
#include "lib/input/timestamp.h"
#include "lib/system/parallel.h"

#define DEFAULT_STEP (60 * 1000000000ll)
#define MERGED_SHARE 10 /* one of so many values that stand in the place of another: no mere repetition */
#define TEXT_SHOWN   40 /* of a field in a report */

static const char *const endings[] = {".csv", ".tsv", ".tab", NULL};

static const char *shown(const struct csv_field *f, char buf[TEXT_SHOWN + 1])
{
	size_t n = (size_t)(f->end - f->at);

	n = n < TEXT_SHOWN ? n : TEXT_SHOWN;
	memcpy(buf, f->at, n);
	buf[n] = 0;
	return buf;
}

static bool remembered(const struct memory *m, const struct csv_field *f)
{
	size_t n = (size_t)(f->end - f->at);

	return n == m->n && n && memcmp(m->text, f->at, n) == 0;
}

static void remember(struct memory *m, const struct csv_field *f, int64_t meaning)
{
	size_t n = (size_t)(f->end - f->at);

	m->n = n <= sizeof(m->text) ? n : 0;
	memcpy(m->text, f->at, m->n);
	m->meaning = meaning;
}

static int take_time(struct csv_table *t, struct csv_field *f)
{
	if (!remembered(&t->time, f)) {
		int64_t time;

		csv_trim(f);
		if (csv_parse_time(t, f, &time) < 0) {
			t->wrong = "no time";
			return 0;
		}
		remember(&t->time, f, time);
	}
	t->row_time = t->time.meaning;
	return 0;
}

static int take_server(struct csv_table *t, struct csv_field *f)
{
	if (!remembered(&t->server, f)) {
		int id;

		csv_trim(f);
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

static int take_counter(struct csv_table *t, struct csv_field *f)
{
	t->row_name = *f;
	if (!remembered(&t->counter, f)) {
		int id = -1;

		csv_trim(f);
		*f->end = 0;
		if (!*f->at) {
			t->wrong = "no counter's name";
			return 0;
		}
		if (csv_wanted(t, f->at) && !t->has_labels)
			id = intake_counter(t->into, f->at, NULL);
		if (id == -ENOMEM)
			return id;
		remember(&t->counter, f, id);
	}
	t->row_counter = (int)t->counter.meaning;
	return 0;
}

/* A number between semicolons may have a comma for its point. */
static void with_point(const struct csv_table *t, struct csv_field *f, char copy[TEXT_SHOWN + 1])
{
	char *comma;

	if (t->point != ',' || f->end - f->at > TEXT_SHOWN)
		return;
	shown(f, copy);
	comma = strchr(copy, ',');
	if (!comma || strchr(comma + 1, ','))
		return;
	*comma = '.';
	*f = (struct csv_field){copy, copy + (f->end - f->at)};
}

/* *ret_unit: what stood behind the number. */
static void take_number(struct csv_table *t, struct csv_field *f, double *ret, char ret_unit[QUANTITY_UNIT_MAX])
{
	char copy[TEXT_SHOWN + 1], text[TEXT_SHOWN + 1];
	struct csv_field number;

	*ret = NAN;
	csv_trim(f);
	number = *f;
	with_point(t, &number, copy);
	*ret_unit = 0;
	if (f->at == f->end || number_parse_slowly(number.at, number.end, ret) || quantity_parse(number.at, number.end, ret, ret_unit))
		return;
	*ret = NAN;
	intake_bad(t->into, t->path, t->line, "'%s' is not a number", shown(f, text));
}

/* A value in the unit of its counter, which the first unit that is given decides. 0 or -ENOMEM. */
static int convert(struct csv_table *t, int counter, const char *name, const char *unit, double *value)
{
	if (!*unit || counter < 0)
		return 0;
	if (intake_counter(t->into, name, &(struct counter_info){.unit = unit}) < 0)
		return -ENOMEM;
	*value = intake_in_unit(t->into, counter, unit, *value, t->path, t->line);
	return 0;
}

static int take_own_number(struct csv_table *t, const struct csv_column *c, struct csv_field *f)
{
	char unit[QUANTITY_UNIT_MAX];

	take_number(t, f, &t->values[c->place], unit);
	return t->has_labels ? 0 : convert(t, c->counter, c->name, unit, &t->values[c->place]);
}

static int take_clock(struct csv_table *t, struct csv_field *f)
{
	csv_trim(f);
	if (timestamp_parse_clock(f->at, f->end, &t->row_clock) < 0)
		t->wrong = "no time of day";
	return 0;
}

/* The first text of a column is kept, to see whether another one follows. */
static int take_text(struct csv_column *c, struct csv_field *f)
{
	size_t n = (size_t)(f->end - f->at);

	if (c->use == USE_LABEL) {
		free(c->text);
		c->text = NULL;
	}
	if (!c->text) {
		c->text = strndup(f->at, n);
		return c->text ? 0 : -ENOMEM;
	}
	c->varies = c->varies || strncmp(c->text, f->at, n) != 0 || c->text[n];
	return 0;
}

static int take_field(struct csv_table *t, struct csv_column *c, struct csv_field *f)
{
	switch (c->use) {
	case USE_TIME:
		return take_time(t, f);
	case USE_SERVER:
		return take_server(t, f);
	case USE_COUNTER:
		return take_counter(t, f);
	case USE_VALUE:
		take_number(t, f, &t->row_value, t->row_unit);
		return 0;
	case USE_NUMBER:
		return take_own_number(t, c, f);
	case USE_CLOCK:
		return take_clock(t, f);
	case USE_TEXT:
		return c->varies ? 0 : take_text(c, f);
	case USE_LABEL:
		csv_trim(f);
		return take_text(c, f);
	default:
		return 0;
	}
}

/* A row's role and unit may stand before what they belong to. */
static int take_descriptions(struct csv_table *t, struct csv_field *role, struct csv_field *unit)
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
static inline char *quick_number(const struct csv_table *t, char *p, const char *end, double *ret)
{
	const char *after;

	if (*p == t->delimiter && p < end) {
		*ret = NAN;
		return p + 1;
	}
	after = number_parse_plain(p, t->point, ret);
	return after && (after == end || *after == t->delimiter) ? (char *)after + 1 : NULL;
}

/* All fields of a row, up to where it ends; how many, or -ENOMEM. */
static int take_fields(struct csv_table *t, char *p, char *end)
{
	struct csv_field role = {}, unit = {};
	size_t i;
	int r = 0;

	for (i = 0; i < t->columns.n && p <= end && r == 0; i++) {
		struct csv_column *c = &t->columns.v[i];
		char *after = c->use == USE_NUMBER ? quick_number(t, p, end, &t->values[c->place]) : NULL;
		struct csv_field f;

		if (after) {
			p = after;
			continue;
		}
		f = csv_next_field(&p, end, t->delimiter);
		if (c->use == USE_ROLE)
			role = f;
		else if (c->use == USE_UNIT)
			unit = f;
		else
			r = take_field(t, c, &f);
	}
	for (; p <= end; i++)
		(void)csv_next_field(&p, end, t->delimiter);
	if (r == 0 && !t->wrong)
		r = take_descriptions(t, &role, &unit);
	return r < 0 ? r : (int)i;
}

static int own_server(struct csv_table *t)
{
	if (t->own_server < 0)
		t->own_server = intake_server(t->into, t->name);
	return t->own_server;
}

/* "name{column="text"}" of the row's labels, or NULL. */
static char *labelled(const struct csv_table *t, const char *name, size_t n)
{
	struct str s = {};
	bool any = false;

	str_append(&s, name, n);
	VEC_EACH(c, t->columns) {
		if (c->use != USE_LABEL || !c->text || !*c->text)
			continue;
		str_printf(&s, "%s%s=\"%s\"", any ? "," : "{", c->name, c->text);
		any = true;
	}
	if (any)
		str_putc(&s, '}');
	if (s.error)
		str_free(&s);
	return s.data;
}

static int put_labelled(struct csv_table *t, int server, const char *name, size_t n, const char *unit, double value)
{
	_cleanup_free_ char *full = labelled(t, name, n);
	int counter;

	if (!full)
		return -ENOMEM;
	if (isnan(value) || !csv_wanted(t, full))
		return 0;
	counter = intake_counter(t->into, full, NULL);
	if (counter < 0 || convert(t, counter, full, unit, &value) < 0)
		return -ENOMEM;
	return intake_put(t->into, server, counter, t->row_time, value);
}

static int put_labelled_row(struct csv_table *t)
{
	int r = 0;

	if (t->is_long)
		return put_labelled(t, t->row_server, t->row_name.at, (size_t)(t->row_name.end - t->row_name.at), t->row_unit, t->row_value);
	for (size_t i = 0; i < t->columns.n && r == 0; i++) {
		const struct csv_column *c = &t->columns.v[i];

		if (c->use == USE_NUMBER)
			r = put_labelled(t, c->server >= 0 ? c->server : t->row_server, c->name, strlen(c->name), "", t->values[c->place]);
	}
	return r;
}

static int put_row(struct csv_table *t)
{
	int r = 0;

	t->row_time += t->row_clock;
	if (t->row_time < t->input->from || t->row_time >= t->input->to)
		return 0;
	if (t->has_labels)
		return put_labelled_row(t);
	if (t->is_long && t->row_counter >= 0 && *t->row_unit) {
		*t->row_name.end = 0;
		r = convert(t, t->row_counter, t->row_name.at, t->row_unit, &t->row_value);
	}
	if (t->is_long)
		return r < 0 || t->row_counter < 0 ? r : intake_put(t->into, t->row_server, t->row_counter, t->row_time, t->row_value);
	for (size_t i = 0; r == 0 && i < t->groups.n; i++) {
		const struct csv_group *g = &t->groups.v[i];

		r = intake_row(t->into, g->server >= 0 ? g->server : t->row_server, t->row_time, g->n, t->counters + g->first,
			       t->values + g->first);
	}
	return r;
}

static int read_row(struct csv_table *t, char *line, char *end)
{
	int n;

	if (end > line && end[-1] == '\r')
		end--;
	if (end == line)
		return 0;
	t->wrong = NULL;
	t->row_counter = -1;
	t->row_value = NAN;
	t->row_clock = 0;
	*t->row_unit = 0;
	t->row_time = t->input->begin + t->rows * (t->input->step ? t->input->step : DEFAULT_STEP);
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

static int read_piece(struct csv_table *t, char *piece, size_t n, size_t skip_lines)
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

static void table_free(struct csv_table *t)
{
	VEC_FREE_EACH(t->columns, free(each->name); free(each->text));
	VEC_FREE(t->groups);
	FREE_ALL(t->counters, t->values);
}

static size_t byte_order_mark(const char *piece, size_t n)
{
	return n >= 3 && memcmp(piece, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static int read_table(struct csv_table *t, struct stream *s, uint64_t done, uint64_t total)
{
	size_t n, headers = 0;
	char *piece;
	int r = stream_next(s, &piece, &n);

	if (r == 1) {
		size_t mark = byte_order_mark(piece, n);

		piece += mark;
		n -= mark;
		r = csv_lay_out(t, piece, n, &headers);
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
			   r == -EIO ? "input/output error" : "it is damaged or cut off, or a line is too long");
	if (r == 0 && !t->has_time && t->rows)
		intake_remark(t->into, "%s has no column of times: its rows are taken as %lld s apart", t->path,
			      (long long)((t->input->step ? t->input->step : DEFAULT_STEP) / 1000000000));
	if (t->own_server == 0 && csv_names_are_numbered(t))
		intake_remark(t->into, "%s: its columns are taken as counters of one server, '%s'; if each is a server, give --columns-are-servers", t->path, t->name);
	if (t->own_server >= 0)
		intake_server_done(t->into, t->own_server);
	return r == -ENOMEM ? r : 0;
}

/* The next guess of which texts tell series apart that would be merged otherwise: each column of texts alone, then all of them. False: there is none. */
static bool guess_identity(const struct csv_table *t, struct csv_identity *identity)
{
	bool texts = false;
	size_t i = (size_t)(identity->column + 1);

	if (identity->given_up)
		return false;
	identity->given_up = identity->column == CSV_ALL_TEXTS;
	if (identity->given_up) {
		identity->column = -1;
		return true;
	}
	for (size_t k = 0; k < t->columns.n; k++)
		texts = texts || t->columns.v[k].use == USE_TEXT || t->columns.v[k].use == USE_LABEL;
	while (i < t->columns.n && (t->columns.v[i].use != USE_TEXT || !t->columns.v[i].varies))
		i++;
	identity->column = i < t->columns.n ? (int)i : CSV_ALL_TEXTS;
	return texts;
}

/* Whether so many values stand in the place of others that series were merged. */
static bool merged(const struct intake *in)
{
	struct intake_count n = intake_count(in);

	return n.twice * MERGED_SHARE > n.values;
}

static void remark_identity(const struct csv_table *t)
{
	for (size_t i = 0; i < t->columns.n && t->identity.column >= 0; i++)
		if (t->columns.v[i].use == USE_LABEL || t->identity.column == (int)i)
			intake_remark(t->into, "%s: the column '%s' tells rows of one time apart: it is taken as %s (--server-column and --counter-column choose)",
				      t->path, t->columns.v[i].name, t->columns.v[i].use == USE_LABEL ? "a part of the counter's name" : "the server");
}

/* -EEXIST: series were merged, and *identity is to be tried. */
static int load_file(const struct fleet_input *input, struct intake *into, const char *path, const char *name, uint64_t done,
		     uint64_t total, struct csv_identity *identity)
{
	struct csv_table t = {.input = input, .into = into, .path = path, .name = name, .own_server = -1, .identity = *identity};
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
	if (r == 0 && merged(into) && strcmp(path, "-") != 0 && guess_identity(&t, identity))
		r = -EEXIST;
	if (r == 0)
		remark_identity(&t);
	table_free(&t);
	return r;
}

/* Files are read by as many threads as there are CPUs, each into an intake of its own, and put together in the order of the list. */
struct loading {
	const struct fleet_input *input;
	struct intake *into;
	struct file_list files;
	struct file_progress *progress; /* by file */
	struct intake **read;		/* by file: read, but not put together yet */
	bool *finished;			/* by file */
	size_t merged;			/* files that were put together */
	uint64_t done;			/* bytes */
	pthread_mutex_t lock;
};

struct file_progress {
	struct loading *of;
	uint64_t done;
};

static void add_progress(void *data, uint64_t done, uint64_t total)
{
	struct file_progress *file = data;

	(void)total;
	pthread_mutex_lock(&file->of->lock);
	file->of->done += done - file->done;
	file->done = done;
	intake_progress(file->of->into, file->of->done, file->of->files.bytes);
	pthread_mutex_unlock(&file->of->lock);
}

/* Puts together what is finished and next in the order. 0 or -ENOMEM. */
static int merge_finished(struct loading *l)
{
	int r = 0;

	for (; l->merged < l->files.paths.n && l->finished[l->merged] && r == 0; l->merged++) {
		r = intake_merge(l->into, l->read[l->merged]);
		intake_free(l->read[l->merged]);
		l->read[l->merged] = NULL;
	}
	return r;
}

static int read_one(void *data, size_t i)
{
	struct loading *l = data;
	struct csv_identity identity = {.column = -1};
	int r;

	l->progress[i].of = l;
	do {
		intake_free(l->read[i]);
		l->read[i] = intake_new();
		if (!l->read[i])
			return -ENOMEM;
		intake_on_progress(l->read[i], add_progress, &l->progress[i]);
		r = load_file(l->input, l->read[i], l->files.paths.v[i], l->files.names.v[i], 0, 0, &identity);
	} while (r == -EEXIST);
	pthread_mutex_lock(&l->lock);
	l->finished[i] = r == 0;
	if (l->finished[i])
		r = merge_finished(l);
	else
		intake_take_refusal(l->into, l->read[i]);
	pthread_mutex_unlock(&l->lock);
	return r;
}

static int read_files(struct loading *l)
{
	size_t n = l->files.paths.n;
	int r = -ENOMEM;

	l->progress = calloc(n + 1, sizeof(*l->progress));
	l->read = calloc(n + 1, sizeof(*l->read));
	l->finished = calloc(n + 1, sizeof(*l->finished));
	if (l->progress && l->read && l->finished)
		r = parallel_run(0, n, read_one, l);
	for (size_t i = 0; l->read && i < n; i++)
		intake_free(l->read[i]);
	FREE_ALL(l->progress, l->read, l->finished);
	return r;
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct loading l = {.input = input, .into = into, .lock = PTHREAD_MUTEX_INITIALIZER};
	int r = files_list_in_words(input->location, endings, &l.files, ret_error);

	if (r < 0)
		return r;
	r = read_files(&l);
	file_list_free(&l.files);
	return r;
}

/* Two lines at least, and a delimiter in the first. */
static int look(const char *piece, size_t n)
{
	const char *second = *piece != '{' ? memchr(piece, '\n', n) : NULL;

	if (!second || second + 1 >= piece + n)
		return 0;
	return memchr(piece, csv_find_delimiter(piece, (size_t)(second - piece)), (size_t)(second - piece)) ? 20 : 0;
}

static int recognise(const char *location)
{
	return files_recognise(location, endings, look);
}

const struct fleet_source fleet_source_csv = {
	.name = "csv",
	.help = "CSV or TSV files (also gz, zst, xz): wide, long, or with several header rows",
	.recognise = recognise,
	.load = load,
};
