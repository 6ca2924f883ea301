/* Files that dstat and dool write (--output):
 *
 *   "Dstat 0.8.0 CSV output"
 *   "Host:","web-1",,,,"User:","root"
 *   "Cmdline:","dstat -tc --output web-1.csv 1",,,,"Date:","29 Nov 2026 09:49:09 UTC"
 *   "system","total cpu usage",,            groups of columns
 *   "time","usr","sys","idl"
 *   29-11 09:49:09,40.915,17.734,41.075     means since boot
 *   29-11 09:49:10,3.941,0.985,95.074
 *
 * The counter of a value is its group and column ("total cpu usage usr"). dool writes the day as Nov-29; -T writes seconds since 1970. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/formats/text-lines.h"
#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "lib/input/files.h"
#include "lib/input/quantity.h"
#include "lib/input/timestamp.h"

#define COLUMNS_MAX 4096
#define HALF_A_YEAR (183 * 86400 * NS_PER_SEC)

static const char *const endings[] = {".csv", ".dstat", ".dool", NULL};

enum column_use { COLUMN_VALUE, COLUMN_DAY, COLUMN_EPOCH };

struct column {
	char *name; /* NULL = it has no values */
	enum column_use use;
};

struct dstat {
	struct text_lines at;
	char *host, *groups; /* groups: a copy of their line */
	struct column *columns;
	size_t n;
	int year; /* 0 = not known */
	int64_t last; /* time of the last row */
	uint64_t rows;
};

static void forget_columns(struct dstat *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->columns[i].name);
	FREE_ALL(d->columns, d->groups);
	d->columns = NULL;
	d->groups = NULL;
	d->n = 0;
	d->rows = 0;
}

/* "Host:","web-1" and "Date:","29 Nov 2026 09:49:09 UTC" among the fields of a line. */
static int take_facts(struct dstat *d, char *line)
{
	for (char *field = text_cut_field(&line); field; field = text_cut_field(&line)) {
		char *value = strcmp(field, "Host:") == 0 || strcmp(field, "Date:") == 0 ? text_cut_field(&line) : NULL;
		int day;

		if (!value)
			continue;
		if (*field == 'D' && sscanf(value, "%2d %*3s %4d", &day, &d->year) != 2)
			d->year = 0;
		if (*field == 'H') {
			free(d->host);
			d->host = strdup(value);
			if (!d->host)
				return -ENOMEM;
		}
	}
	return 0;
}

static int add_column(struct dstat *d, const char *group, const char *name)
{
	struct column *more = d->n < COLUMNS_MAX ? reallocarray(d->columns, d->n + 1, sizeof(*more)) : NULL;
	struct column c = {.use = strcmp(name, "time") == 0 ? COLUMN_DAY : strcmp(name, "epoch") == 0 ? COLUMN_EPOCH : COLUMN_VALUE};

	if (more)
		d->columns = more;
	if (!more || (c.use == COLUMN_VALUE && asprintf(&c.name, "%s %s", group, name) < 0))
		return -ENOMEM;
	d->columns[d->n++] = c;
	return 0;
}

/* A group's name stands above its first column, and nothing above the others. */
static int take_names(struct dstat *d, char *names)
{
	char *groups = d->groups;
	const char *group = "";
	int r = 0;

	for (char *name = text_cut_field(&names); r == 0 && name; name = text_cut_field(&names)) {
		const char *next = text_cut_field(&groups);

		group = next && *next ? next : group;
		r = add_column(d, group, name);
	}
	intake_remark(d->at.into, "%s: its first row has means since boot, and is left out", d->at.path);
	if (ANY_WHERE(i, d->n, d->columns[i].use == COLUMN_DAY))
		intake_remark(d->at.into, "%s: its times are local, and are taken as UTC", d->at.path);
	return r;
}

/* "29-11 09:49:09" or "Nov-29 09:49:09", of the year that the head of the file says, or of the next one where that is half a year nearer to the row before. */
static bool parse_day(struct dstat *d, const char *text, int64_t *ret)
{
	_cleanup_str_ struct str whole = {};
	const char *format = *text >= '0' && *text <= '9' ? "%Y-%d-%m %H:%M:%S" : "%Y-%b-%d %H:%M:%S";

	for (int tries = 0; d->year && tries < 2; tries++) {
		whole.len = 0;
		str_printf(&whole, "%d-%s", d->year, text);
		if (whole.error || timestamp_parse_as(format, whole.data, strchr(whole.data, 0), ret) < 0)
			return false;
		if (*ret > d->last - HALF_A_YEAR)
			break;
		d->year++;
	}
	d->last = *ret;
	return d->year;
}

static bool find_moment(struct dstat *d, char *const *fields, int64_t *ret)
{
	for (size_t i = 0; i < d->n; i++) {
		enum column_use use = d->columns[i].use;

		if (use == COLUMN_EPOCH)
			return timestamp_parse(fields[i], strchr(fields[i], 0), ret) == 0;
		if (use == COLUMN_DAY)
			return parse_day(d, fields[i], ret);
	}
	return false;
}

static int put(struct dstat *d, int server, const struct column *c, const char *text, int64_t moment)
{
	char unit[QUANTITY_UNIT_MAX];
	double number;

	if (!c->name || !*text || !selection_wants_counter(d->at.input, c->name))
		return 0;
	if (quantity_parse(text, strchr(text, 0), &number, unit) && !*unit)
		return text_lines_put(&d->at, server, c->name, &(struct counter_info){}, moment, number);
	intake_bad(d->at.into, d->at.path, d->at.line, "'%.40s' of %s is not a number", text, c->name);
	return 0;
}

static int take_row(struct dstat *d, char *line)
{
	char *fields[COLUMNS_MAX];
	size_t n = 0;
	int64_t moment;
	int server, r = 0;

	for (char *field = text_cut_field(&line); field && n < d->n; field = text_cut_field(&line))
		fields[n++] = field;
	if (n < d->n || line) {
		intake_bad(d->at.into, d->at.path, d->at.line, "%s fields than the %zu of its columns", line ? "more" : "fewer", d->n);
		return 0;
	}
	if (!find_moment(d, fields, &moment)) {
		intake_bad(d->at.into, d->at.path, d->at.line, "no time: call dstat or dool with -T");
		return 0;
	}
	if (d->rows++ == 0 || !selection_wants_time(d->at.input, moment))
		return 0;
	server = intake_server(d->at.into, d->host ?: d->at.name);
	for (size_t i = 0; server >= 0 && r >= 0 && i < n; i++)
		r = put(d, server, &d->columns[i], fields[i], moment);
	return server < 0 ? server : r;
}

static bool is_head(const char *line)
{
	return str_starts(line, "\"Dstat ") || str_starts(line, "\"Dool ") || str_starts(line, "\"pcp-dstat ");
}

static int take_line(struct text_lines *l, char *line)
{
	struct dstat *d = (struct dstat *)l;

	if (is_head(line)) { /* it appends to a file that is there */
		forget_columns(d);
		return 0;
	}
	if (!*line || str_starts(line, "\"Author:"))
		return 0;
	if (str_starts(line, "\"Host:") || str_starts(line, "\"Cmdline:"))
		return take_facts(d, line);
	if (d->n)
		return take_row(d, line);
	if (d->groups)
		return take_names(d, line);
	d->groups = strdup(line);
	return d->groups ? 0 : -ENOMEM;
}

static void end_file(struct text_lines *l)
{
	struct dstat *d = (struct dstat *)l;

	forget_columns(d);
	free(d->host);
	*d = (struct dstat){.at = d->at};
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct dstat d = {.at = {.input = input, .into = into}};

	return text_lines_load(&d.at, endings, end_file, take_line, ret_error);
}

static int look(const char *piece, size_t n)
{
	_cleanup_free_ char *head = strndup(piece, n < 20 ? n : 20);

	return head && is_head(head) ? 95 : 0;
}

static int recognise(const char *location)
{
	return files_recognise_by_content(location, endings, look);
}

const struct fleet_source fleet_source_dstat = {
	.name = "dstat",
	.help = "CSV files of dstat and dool (also gz, zst, xz)",
	.recognise = recognise,
	.load = load,
};
