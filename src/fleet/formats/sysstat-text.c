/* The text that sysstat prints:
 *
 *   Linux 6.1.0-18-amd64 (web-1) 	11/20/2026 	_x86_64_	(2 CPU)        sar, mpstat, pidstat, iostat -t
 *
 *   14:00:01        CPU     %user     %nice   %system                       a header behind each empty line, with a time or without (iostat)
 *   14:10:01        all      1.20      0.00      0.50
 *
 *   # hostname;interval;timestamp;CPU;%user;%nice                          sadf -d: the same with the host and the time in each row
 *   web-1;600;2026-11-20 14:10:01 UTC;-1;1.20;0.00
 *
 *   web-1	600	1795183801	all	%user	1.20                       sadf -p: a value a line
 *
 * Texts before the first number (CPU, IFACE, DEV, Command) and numbers that are names become labels: %user{CPU="all"}. Averages are left out. Times are
 * taken as UTC, as they are written in no zone; the date is the first line's, and continues at midnight.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/formats/text-lines.h"
#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/input/files.h"
#include "lib/input/number.h"
#include "lib/input/timestamp.h"

#define FIELDS_MAX 1040 /* sar has a column for each of 1,024 CPUs */
#define NAME_MAX_  256
#define DAY	   (86400 * NS_PER_SEC)

static const char *const endings[] = {".sar", ".sysstat", NULL};

struct report {
	struct text_lines at;
	int server;
	int64_t day, moment; /* wall ns; day = -1: no first line yet */
	struct text_day clock;
	bool begins; /* a block: its header is next */
	bool has_moment; /* a line of its own gave the time (iostat -t) */
	char *header;	 /* a copy, which fields point into */
	char *columns[FIELDS_MAX];
	bool of_tcp;		/* the value before was of the errors of TCP */
	size_t n_columns, skip; /* fields before the first column: time, AM */
};

static size_t split(char *line, const char *between, char *fields[FIELDS_MAX])
{
	size_t n = 0;
	char *rest = line;

	if (between[1]) /* runs of blanks */
		for (char *word = strtok_r(line, between, &rest); word && n < FIELDS_MAX; word = strtok_r(NULL, between, &rest))
			fields[n++] = word;
	else
		for (char *word = strsep(&rest, between); word && n < FIELDS_MAX; word = strsep(&rest, between))
			fields[n++] = word;
	return n;
}

static bool is_name(const char *column)
{
	static const char *const names[] = {"CPU", "DEV", "Device", "Device:", "IFACE", "INTR", "FILESYSTEM", "MOUNTPOINT", "TTY", "BUS", "Command", "CORE", "NODE",
					    "FAN", "TEMP", "USB", "UID", "PID", "TGID", "TID", "USER", "GPU", "CHANNEL"};

	return ANY_WHERE(i, ARRAY_SIZE(names), strcmp(names[i], column) == 0);
}

/* "14:00:01", behind which "PM" may stand: how many fields it takes; 0 = it is not a time. */
static size_t time_of_day(char *const *fields, size_t n, int64_t *ret)
{
	size_t length = n ? strlen(fields[0]) : 0;
	bool pm;

	if (!n || !isdigit((unsigned char)*fields[0]) || timestamp_parse_clock(fields[0], fields[0] + length, ret) < 0)
		return 0;
	if (n < 2 || (strcmp(fields[1], "AM") != 0 && strcmp(fields[1], "PM") != 0))
		return 1;
	pm = *fields[1] == 'P';
	*ret = *ret % (DAY / 2) + (pm ? DAY / 2 : 0);
	return 2;
}

/* The date as sysstat writes it: 2026-11-20, 11/20/2026, 11/20/26, 20.11.2026. */
static int parse_date(const char *text, int64_t *ret)
{
	static const char *const formats[] = {"%m/%d/%Y", "%m/%d/%y", "%d.%m.%Y"};
	const char *end = strchr(text, 0);

	int64_t time;
	bool found = strchr(text, '-') && timestamp_parse(text, end, &time) == 0 && time % DAY == 0;

	for (size_t i = 0; i < ARRAY_SIZE(formats) && !found; i++)
		found = timestamp_parse_as(formats[i], text, end, &time) == 0 && time > 0;
	if (found)
		*ret = time;
	return found ? 0 : -EINVAL;
}

/* "Linux 6.1.0 (web-1) 	11/20/2026 	_x86_64_	(2 CPU)" */
static int take_first_line(struct report *r, char *line)
{
	char *open = strchr(line, '('), *close = open ? strchr(open, ')') : NULL, *rest = NULL, *date = close ? strtok_r(close + 1, " \t", &rest) : NULL;

	if (!date)
		return -EINVAL;
	*close = 0;
	if (r->at.input->time_format ? timestamp_parse_as(r->at.input->time_format, date, strchr(date, 0), &r->day) < 0 : parse_date(date, &r->day) < 0)
		return -EINVAL;
	r->clock = (struct text_day){};
	r->begins = true;
	r->n_columns = 0;
	r->server = intake_server(r->at.into, open + 1);
	return r->server < 0 ? -ENOMEM : 0;
}

static int keep_header(struct report *r, char *const *fields, size_t n, size_t skip)
{
	_cleanup_str_ struct str text = {};

	for (size_t i = skip; i < n; i++)
		str_printf(&text, "%s%s", i > skip ? "\n" : "", fields[i]);
	if (text.error)
		return -ENOMEM;
	free(r->header);
	r->header = TAKE(text.data);
	r->n_columns = r->header ? split(r->header, "\n", r->columns) : 0;
	r->skip = skip;
	return 0;
}

/* "1.20", and as -h prints it for people: "45.6%", "436.1k" or "7.2G", in the column's KiB or MiB ("MBfsfree"). */
static bool parse_value(const char *column, const char *text, double *ret)
{
	static const char sizes[] = "BkMGTP";
	const char *end = strchr(text, 0), *size = end > text ? strchr(sizes, end[-1]) : NULL;

	if (!number_parse_slowly(text, end - (size || (end > text && end[-1] == '%')), ret))
		return false;
	if (size)
		*ret *= pow(1024, (double)(size - sizes - 1 - str_starts(column, "MB")));
	return true;
}

static int put(struct report *r, const char *counter, const char *labels, const char *value)
{
	char name[2 * NAME_MAX_];
	double number;
	int c;

	if (!parse_value(counter, value, &number)) {
		intake_bad(r->at.into, r->at.path, r->at.line, "'%.40s' is not a number", value);
		return 0;
	}
	if (r->of_tcp && strcmp(counter, "retrans/s") == 0) /* one of NFS has this name, too */
		labels = "group=\"ETCP\"";
	r->of_tcp = strcmp(counter, "estres/s") == 0;
	snprintf(name, sizeof(name), "%.*s%s%s%s", NAME_MAX_, counter, *labels ? "{" : "", labels, *labels ? "}" : "");
	if (!selection_wants_counter(r->at.input, name) || !selection_wants_time(r->at.input, r->moment))
		return 0;
	c = intake_counter(r->at.into, name, &(struct counter_info){.kind = FLEET_GAUGE, .unit = *counter == '%' ? "%" : NULL});
	return c < 0 ? c : intake_put(r->at.into, r->server, c, r->moment, number);
}

/* The CPU that a process ran on last: it is another one every now and then, so not a part of its name. */
static bool is_place(const struct report *r, size_t column)
{
	return strcmp(r->columns[column], "CPU") == 0 && ANY_WHERE(i, r->n_columns, strcmp(r->columns[i], "PID") == 0 || strcmp(r->columns[i], "TGID") == 0);
}

/* The fields below columns [0, n): names first, then values. */
static int put_fields(struct report *r, char *const *fields)
{
	char labels[NAME_MAX_] = "";
	int result = 0;

	for (size_t i = 0; i < r->n_columns; i++)
		if (is_name(r->columns[i]) && !is_place(r, i)) {
			size_t used = strlen(labels), n = strcspn(r->columns[i], ":");

			snprintf(labels + used, sizeof(labels) - used, "%s%.*s=\"%s\"", used ? "," : "", (int)n, r->columns[i], strcmp(fields[i], "-1") == 0 ? "all" : fields[i]);
		}
	for (size_t i = 0; i < r->n_columns && result >= 0; i++)
		if (!is_name(r->columns[i]))
			result = put(r, r->columns[i], labels, fields[i]);
	return result;
}

static bool any_number(char *const *fields, size_t from, size_t n)
{
	double unused;

	for (size_t i = from; i < n; i++)
		if (number_parse_slowly(fields[i], strchr(fields[i], 0), &unused))
			return true;
	return false;
}

/* sadf -d and -p: the server and the time are in the row. 0 where it is such a row. */
static int set_row(struct report *r, const char *server, const char *time)
{
	if (timestamp_parse(time, strchr(time, 0), &r->moment) < 0) {
		intake_bad(r->at.into, r->at.path, r->at.line, "invalid time '%.40s'", time);
		return -EINVAL;
	}
	r->server = intake_server(r->at.into, server);
	return r->server < 0 ? -ENOMEM : 0;
}

/* "INTR;CPU*" stands for the columns INTR, all, CPU0, CPU1 ... of sar's own text. */
static int spread_cpus(struct report *r, size_t n)
{
	char *columns[FIELDS_MAX], names[FIELDS_MAX][16];
	size_t first = r->n_columns - 1;

	for (size_t i = 0; i < n && i < FIELDS_MAX; i++) {
		columns[i] = i < first ? r->columns[i] : names[i];
		if (i >= first)
			snprintf(names[i], sizeof(names[i]), i > first ? "CPU%zu" : "all", i - first - 1);
	}
	return keep_header(r, columns, n < FIELDS_MAX ? n : FIELDS_MAX, 0) < 0 ? -ENOMEM : (r->skip = 3, 0);
}

static int take_sadf_row(struct report *r, char *line)
{
	char *fields[FIELDS_MAX];
	bool header = str_starts(line, "# hostname");
	size_t n = split(line, ";", fields);
	int e;

	if (header)
		return keep_header(r, fields, n, 3);
	if (n == 4 && (str_starts(fields[3], "LINUX-RESTART") || str_starts(fields[3], "COM")))
		return 0;
	if (r->n_columns && n > r->n_columns + 3 && strcmp(r->columns[r->n_columns - 1], "CPU*") == 0 && spread_cpus(r, n - 3) < 0)
		return -ENOMEM;
	if (n != r->n_columns + 3 || n == FIELDS_MAX) {
		intake_bad(r->at.into, r->at.path, r->at.line, "%zu fields instead of %zu", n, r->n_columns + 3);
		return 0;
	}
	e = set_row(r, fields[0], fields[2]);
	return e == -EINVAL ? 0 : e < 0 ? e : put_fields(r, fields + 3);
}

/* "web-1	600	1795183801	all	%user	1.20"; a minus stands for a device where there is none. */
static int take_sadf_value(struct report *r, char *line)
{
	char *fields[FIELDS_MAX], labels[NAME_MAX_] = "";
	size_t n = split(line, "\t", fields);
	int e;

	if (n != 6) {
		if (n > 3 && !str_starts(fields[3], "LINUX-RESTART"))
			intake_bad(r->at.into, r->at.path, r->at.line, "%zu fields instead of 6", n);
		return 0;
	}
	e = set_row(r, fields[0], fields[2]);
	if (strcmp(fields[3], "-") != 0)
		snprintf(labels, sizeof(labels), "%s", fields[3]);
	return e == -EINVAL ? 0 : e < 0 ? e : put(r, fields[4], labels, fields[5]);
}

/* A command's name, the last column, may have blanks. How many fields there are then. */
static size_t join_command(const struct report *r, char *const *fields, size_t n, size_t skip)
{
	const size_t wanted = r->n_columns + skip;

	if (n <= wanted || !r->n_columns || strcmp(r->columns[r->n_columns - 1], "Command") != 0)
		return n;
	for (char *p = fields[wanted - 1]; p < fields[n - 1]; p++)
		*p = *p ?: ' ';
	return wanted;
}

static int take_row(struct report *r, char *line)
{
	char *fields[FIELDS_MAX];
	size_t n = split(line, " \t", fields), skip;
	int64_t of_day, date, moment;
	bool since_1970;

	if (!n || strcmp(fields[0], "Average:") == 0 || strcmp(fields[0], "Summary:") == 0 || (n > 1 && strcmp(fields[1], "LINUX") == 0)) {
		r->begins |= !n;
		return 0;
	}
	if (n >= 2 && n <= 3 && parse_date(fields[0], &date) == 0 && time_of_day(fields + 1, n - 1, &of_day) == n - 1) { /* iostat -t */
		r->moment = date + of_day;
		r->begins = r->has_moment = true;
		return 0;
	}
	if (strcmp(fields[0], "avg-cpu:") == 0)
		return keep_header(r, fields, n, 1);
	if (strcmp(fields[0], "#") == 0 && n > 1) /* pidstat -h: "# Time UID PID ..." */
		return keep_header(r, fields, n, 2);
	skip = time_of_day(fields, n, &of_day);
	since_1970 = !skip && n > 1 && strlen(fields[0]) == 10 && timestamp_parse(fields[0], strchr(fields[0], 0), &moment) == 0; /* pidstat -H */
	skip += since_1970;
	if (r->begins && !any_number(fields, skip, n)) {
		r->begins = false;
		return keep_header(r, fields, n, skip);
	}
	n = join_command(r, fields, n, skip);
	if (n != r->n_columns + skip || !r->n_columns) {
		intake_bad(r->at.into, r->at.path, r->at.line, "%zu fields instead of %zu", n, r->n_columns + skip);
		return 0;
	}
	if (!skip && !r->has_moment) {
		intake_bad(r->at.into, r->at.path, r->at.line, "a row without a time: call iostat with -t");
		return 0;
	}
	if (since_1970)
		r->moment = moment;
	else if (skip)
		r->moment = text_day_time(&r->clock, r->day, of_day);
	return put_fields(r, fields + skip);
}

static int take_line(struct text_lines *l, char *line)
{
	struct report *r = (struct report *)l;

	if (str_starts(line, "Linux ") && strchr(line, '(')) {
		int e = take_first_line(r, line);

		if (e == -EINVAL)
			intake_bad(r->at.into, r->at.path, r->at.line, "no date in the first line; --time-format tells how it is written");
		return e == -EINVAL ? 0 : e;
	}
	if (strchr(line, ';') && (str_starts(line, "# hostname") || r->skip == 3))
		return take_sadf_row(r, line);
	if (r->day < 0 && strchr(line, '\t'))
		return take_sadf_value(r, line);
	return r->day < 0 ? 0 : take_row(r, line);
}

static void end_file(struct text_lines *l)
{
	struct report *r = (struct report *)l;

	free(r->header);
	*r = (struct report){.at = r->at, .day = -1};
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct report report = {.at = {.input = input, .into = into}, .day = -1};

	return text_lines_load(&report.at, endings, end_file, take_line, ret_error);
}

/* sadf -p: host, interval, time, device, name and value between tabs. */
static bool is_sadf_p(const char *piece)
{
	size_t end = strcspn(piece, "\n"), tabs = 0;
	char *after;

	for (size_t i = 0; i < end; i++)
		tabs += piece[i] == '\t';
	if (tabs != 5)
		return false;
	piece = strchr(piece, '\t') + 1;
	(void)strtoul(piece, &after, 10);
	return after > piece && *after == '\t';
}

static int look(const char *piece, size_t n)
{
	(void)n;
	if (str_starts(piece, "# hostname;interval;timestamp") || is_sadf_p(piece))
		return 90;
	return str_starts(piece, "Linux ") && strchr(piece, '(') ? 90 : 0;
}

static int recognise(const char *location)
{
	return files_recognise(location, endings, look);
}

const struct fleet_source fleet_source_sysstat_text = {
	.name = "sysstat-text",
	.help = "what sar, mpstat, pidstat, iostat -t, sadf -d and sadf -p print",
	.recognise = recognise,
	.load = load,
};
