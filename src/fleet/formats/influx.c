/* Influx's line protocol, and what Telegraf writes as JSON is the same as objects (json-lines.c):
 *
 *   cpu,host=web-1,cpu=cpu0 usage_user=1.5,usage_idle=97i 1795183200000000000
 *
 * and the annotated CSV that a query gives, a table behind each group of lines that begin with '#':
 *
 *   #datatype,string,long,dateTime:RFC3339,double,string,string,string
 *   ,result,table,_time,_value,_field,_measurement,host
 *   ,,0,2026-11-20T14:00:00Z,1.5,usage_user,cpu,web-1
 *
 * The server is the tag host; the counter is MEASUREMENT_FIELD with the other tags as labels. Texts and truth values are left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/formats/text-lines.h"
#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/str.h"
#include "lib/input/files.h"
#include "lib/input/number.h"
#include "lib/input/timestamp.h"

#define COLUMNS_MAX 256

static const char *const endings[] = {".lp", ".influx", ".line", NULL};
static const char *const csv_endings[] = {".csv", NULL};

/* Up to one of `stops` that is not escaped or within quotes, unescaped in place and terminated; *ret_stop is what stood there. */
static char *take_part(char **at, const char *stops, char *ret_stop)
{
	char *begin = *at, *to = begin, *p = begin;
	bool quoted = false;

	for (; *p && (quoted || !strchr(stops, *p)); p++) {
		quoted ^= *p == '"';
		if (*p == '\\' && p[1])
			p++;
		*to++ = *p;
	}
	*ret_stop = *p;
	*at = *p ? p + 1 : p;
	*to = 0;
	return begin;
}

/* "1.5", "97i", "97u"; NaN for texts and truth values. False where it is none of these. */
static bool parse_field(char *value, double *ret)
{
	size_t n = strlen(value);

	*ret = NAN;
	if (*value == '"' || strcasecmp(value, "t") == 0 || strcasecmp(value, "f") == 0 || strcasecmp(value, "true") == 0 || strcasecmp(value, "false") == 0)
		return true;
	if (n && strchr("iu", value[n - 1]))
		value[--n] = 0;
	return number_parse_slowly(value, value + n, ret) != NULL;
}

struct point {
	struct str labels;
	int server;
	const char *measurement;
};

static int put_field(struct text_lines *l, const struct point *p, const char *field, double value, int64_t time)
{
	_cleanup_str_ struct str name = {};
	int counter;

	str_printf(&name, "%s_%s%s%s%s", p->measurement, field, p->labels.len ? "{" : "", p->labels.len ? p->labels.data : "", p->labels.len ? "}" : "");
	if (name.error)
		return -ENOMEM;
	if (!selection_wants_counter(l->input, name.data))
		return 0;
	counter = intake_counter(l->into, name.data, NULL);
	return counter < 0 ? counter : intake_put(l->into, p->server, counter, time, value);
}

/* Measurement and tags. -EINVAL: the line is not of this form. */
static int take_series(struct text_lines *l, char **at, struct point *ret)
{
	const char *server_tag = l->input->server_column ? l->input->server_column : "host", *server = l->name;
	char stop;

	ret->measurement = take_part(at, ", ", &stop);
	while (stop == ',') {
		const char *key = take_part(at, "= ", &stop), *value = stop == '=' ? take_part(at, ", ", &stop) : "";

		if (strcmp(key, server_tag) == 0)
			server = value;
		else
			str_printf(&ret->labels, "%s%s=\"%s\"", ret->labels.len ? "," : "", key, value);
	}
	if (!*ret->measurement || stop != ' ')
		return -EINVAL;
	ret->server = intake_server(l->into, server);
	return ret->server < 0 || ret->labels.error ? -ENOMEM : 0;
}

static int take_fields(struct text_lines *l, const struct point *p, char *at, int64_t time)
{
	char stop = ',';
	int r = 0;

	while (r >= 0 && stop == ',') {
		const char *field = take_part(&at, "= ", &stop);
		char *text = stop == '=' ? take_part(&at, ", ", &stop) : at;
		double value;

		if (!*field || !parse_field(text, &value))
			intake_bad(l->into, l->path, l->line, "field '%.40s' has no number", field);
		else
			r = put_field(l, p, field, value, time);
	}
	return r;
}

static int take_line(struct text_lines *l, char *line)
{
	_cleanup_str_ struct str labels = {};
	struct point p = {};
	char *last = strrchr(line, ' ');
	int64_t time;
	int r;

	if (!*line || *line == '#')
		return 0;
	if (!last || timestamp_parse(last + 1, strchr(last, 0), &time) < 0 || strchr(last, '=')) {
		intake_bad(l->into, l->path, l->line, "no time at the end of the line");
		return 0;
	}
	*last = 0;
	if (!selection_wants_time(l->input, time))
		return 0;
	r = take_series(l, &line, &p);
	labels = p.labels;
	if (r == -EINVAL)
		intake_bad(l->into, l->path, l->line, "expected MEASUREMENT,TAG=VALUE FIELD=NUMBER TIME");
	return r == -EINVAL ? 0 : r < 0 ? r : take_fields(l, &p, line, time);
}

/* --- annotated CSV --- */

struct annotated {
	struct text_lines at;
	char *header; /* a copy, which columns point into */
	char *columns[COLUMNS_MAX];
	size_t n;
};

static size_t cut_fields(char *line, char *fields[COLUMNS_MAX])
{
	size_t n = 0;

	for (char *field = text_cut_field(&line); field; field = text_cut_field(&line)) {
		if (n < COLUMNS_MAX)
			fields[n] = field;
		n++;
	}
	return n;
}

static int keep_columns(struct annotated *a, const char *line)
{
	free(a->header);
	a->header = strdup(line);
	a->n = a->header ? cut_fields(a->header, a->columns) : 0;
	if (a->n > COLUMNS_MAX) {
		intake_bad(a->at.into, a->at.path, a->at.line, "%zu columns; expected at most %d", a->n, COLUMNS_MAX);
		a->n = 0;
	}
	return a->header ? 0 : -ENOMEM;
}

/* Tables of the same query, its range, and columns without a name say nothing of a point. */
static bool is_tag(const char *column)
{
	return *column && *column != '_' && strcmp(column, "result") != 0 && strcmp(column, "table") != 0;
}

static int take_table_row(struct annotated *a, char *line)
{
	const char *server_tag = a->at.input->server_column ? a->at.input->server_column : "host", *value = NULL, *when = NULL, *field = "", *server = a->at.name;
	_cleanup_str_ struct str labels = {};
	struct point p = {.measurement = ""};
	char *fields[COLUMNS_MAX];
	size_t n = cut_fields(line, fields);
	double number;
	int64_t time;

	if (n != a->n) {
		intake_bad(a->at.into, a->at.path, a->at.line, "%zu fields instead of %zu", n, a->n);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		const char *column = a->columns[i];

		if (strcmp(column, "_value") == 0)
			value = fields[i];
		else if (strcmp(column, "_time") == 0)
			when = fields[i];
		else if (strcmp(column, "_field") == 0)
			field = fields[i];
		else if (strcmp(column, "_measurement") == 0)
			p.measurement = fields[i];
		else if (strcmp(column, server_tag) == 0)
			server = fields[i];
		else if (is_tag(column))
			str_printf(&labels, "%s%s=\"%s\"", labels.len ? "," : "", column, fields[i]);
	}
	if (!value || !when || timestamp_parse(when, strchr(when, 0), &time) < 0) {
		intake_bad(a->at.into, a->at.path, a->at.line, "no _time and _value: pivot() and the like have them in other columns");
		return 0;
	}
	if (!*value || !selection_wants_time(a->at.input, time))
		return 0;
	if (!number_parse_slowly(value, strchr(value, 0), &number)) /* a text or a truth value */
		return 0;
	p.labels = labels;
	p.server = intake_server(a->at.into, server);
	return p.server < 0 || labels.error ? -ENOMEM : put_field(&a->at, &p, field, number, time);
}

static int take_csv_line(struct text_lines *l, char *line)
{
	struct annotated *a = (struct annotated *)l;

	if (!*line || *line == '#') {
		a->n = 0;
		return 0;
	}
	return a->n ? take_table_row(a, line) : keep_columns(a, line);
}

static void end_csv_file(struct text_lines *l)
{
	struct annotated *a = (struct annotated *)l;

	free(a->header);
	*a = (struct annotated){.at = a->at};
}

static int load_csv(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct annotated a = {.at = {.input = input, .into = into}};

	return text_lines_load(&a.at, csv_endings, end_csv_file, take_csv_line, ret_error);
}

static int look_csv(const char *piece, size_t n)
{
	(void)n;
	return str_starts(piece, "#group,") || str_starts(piece, "#datatype,") || str_starts(piece, "#default,") ? 90 : 0;
}

static int recognise_csv(const char *location)
{
	return files_recognise_by_content(location, csv_endings, look_csv);
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	return text_lines_load(&(struct text_lines){.input = input, .into = into}, endings, NULL, take_line, ret_error);
}

/* A word with tags, fields with '=', and a number of nanoseconds. */
static int look(const char *piece, size_t n)
{
	const char *end = memchr(piece, '\n', n), *space = memchr(piece, ' ', n), *equals = space ? memchr(space, '=', (size_t)(piece + n - space)) : NULL, *last = end;

	if (!end || !space || !equals || equals > end || *piece == '{' || *piece == '#')
		return 0;
	while (last > piece && last[-1] >= '0' && last[-1] <= '9')
		last--;
	return end - last >= 10 && last > equals && last[-1] == ' ' ? 70 : 0;
}

static int recognise(const char *location)
{
	return files_recognise(location, endings, look);
}

const struct fleet_source fleet_source_influx = {
	.name = "influx",
	.help = "Influx's line protocol (also gz, zst, xz)",
	.recognise = recognise,
	.load = load,
};

const struct fleet_source fleet_source_influx_csv = {
	.name = "influx-csv",
	.help = "Influx's annotated CSV (also gz, zst, xz)",
	.recognise = recognise_csv,
	.load = load_csv,
};
