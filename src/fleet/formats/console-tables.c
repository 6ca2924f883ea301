/* Tables that tools print again and again for a person to watch:
 *
 *   procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----    vmstat, -w, and with times by -t
 *    r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 *    5  0      0 203136  75204 364795    8   13   489  6091  957 2222 44 19 36  0  0 2026-11-20 14:00:00
 *
 *   2026-11-20T14:00:00Z
 *   CONTAINER ID   NAME    CPU %     MEM USAGE / LIMIT   NET I/O         PIDS                               docker stats --no-stream
 *   0a1b2c3d4e5f   web-1   0.05%     3.5MiB / 7.6GiB     1.2kB / 650B    2
 *
 *   NAMESPACE   NAME    CPU(cores)   MEMORY(bytes)                                                          kubectl top pods, nodes
 *   shop        web-1   12m          34Mi
 *
 * The time of the last two is in a line before each table, or at the beginning of each of its lines. The server of vmstat is the file's name.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/formats/text-lines.h"
#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/input/files.h"
#include "lib/input/quantity.h"
#include "lib/input/timestamp.h"

#define COLUMNS_MAX 32

static const char *const endings[] = {".vmstat", ".stats", ".top", NULL};

struct table {
	struct text_lines at;
	char *header; /* a copy, which columns point into */
	char *columns[COLUMNS_MAX];
	size_t n;
	bool is_vmstat, has_times; /* has_times: the last column of vmstat is a time */
	bool has_moment, refused;
	int64_t moment, rows;
};

/* Fields between runs of at least `blanks` blanks. More than COLUMNS_MAX are counted, not kept. */
static size_t split(char *p, size_t blanks, char *fields[COLUMNS_MAX])
{
	size_t n = 0;

	for (p += strspn(p, " \t"); *p; n++) {
		char *end = p;

		if (n < COLUMNS_MAX)
			fields[n] = p;
		while (*end && strspn(end, " ") < blanks && *end != '\t')
			end++;
		p = end + strspn(end, " \t");
		*end = 0;
	}
	return n;
}

/* Keeps a copy of the names of columns. 0 or -ENOMEM. */
static int keep_header(struct table *t, const char *line)
{
	free(t->header);
	t->n = 0;
	t->header = strdup(line);
	if (!t->header)
		return -ENOMEM;
	t->n = split(t->header, t->is_vmstat ? 1 : 2, t->columns);
	if (t->n > COLUMNS_MAX) {
		intake_bad(t->at.into, t->at.path, t->at.line, "%zu columns; expected at most %d", t->n, COLUMNS_MAX);
		t->n = 0;
	}
	return 0;
}

/* A column by its name; NULL: the table has none. */
static const char *field_of(const struct table *t, char *const *fields, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->columns[i], name) == 0)
			return fields[i];
	return NULL;
}

static int put(struct table *t, int server, const char *name, const char *label, enum fleet_kind kind, const char *from, const char *to)
{
	_cleanup_str_ struct str full = {};
	char unit[QUANTITY_UNIT_MAX];
	double number;

	if (from == to || (to - from == 2 && memcmp(from, "--", 2) == 0) || (to - from == 9 && memcmp(from, "<unknown>", 9) == 0))
		return 0;
	if (!quantity_parse(from, to, &number, unit)) {
		intake_bad(t->at.into, t->at.path, t->at.line, "'%.*s' of %s is not a number", (int)(to - from < 40 ? to - from : 40), from, name);
		return 0;
	}
	str_printf(&full, "%s%s%s%s", name, label ? "{container=\"" : "", label ? label : "", label ? "\"}" : "");
	if (full.error)
		return -ENOMEM;
	if (!selection_wants_counter(t->at.input, full.data) || !selection_wants_time(t->at.input, t->moment))
		return 0;
	return text_lines_put(&t->at, server, full.data, &(struct counter_info){.kind = kind, .unit = *unit ? unit : NULL}, t->moment, number);
}

/* "1.2kB / 650B" below "NET I/O" is NET I and NET O; below "MEM USAGE / LIMIT" MEM USAGE and MEM LIMIT. What was transferred is a running sum. */
static int put_pair(struct table *t, int server, const char *name, const char *value)
{
	const char *slash = strchr(name, '/'), *between = strstr(value, " / "), *blank = strchr(name, ' ');
	enum fleet_kind kind = strstr(name, "I/O") ? FLEET_COUNTER : FLEET_GAUGE;
	_cleanup_str_ struct str first = {}, second = {};
	const char *end = slash;
	int r;

	if (strcmp(value, "--") == 0) /* a container that does not run */
		return 0;
	if (!between || !blank || blank > slash) {
		intake_bad(t->at.into, t->at.path, t->at.line, "'%.40s' of %s are not two values", value, name);
		return 0;
	}
	while (end[-1] == ' ')
		end--;
	str_append(&first, name, (size_t)(end - name));
	str_printf(&second, "%.*s %s", (int)(blank - name), name, slash + 1 + strspn(slash + 1, " "));
	if (first.error || second.error)
		return -ENOMEM;
	r = put(t, server, first.data, NULL, kind, value, between);
	return r < 0 ? r : put(t, server, second.data, NULL, kind, between + 3, strchr(value, 0));
}

static int server_of(struct table *t, char *const *fields)
{
	const char *pod = field_of(t, fields, "POD"), *name = field_of(t, fields, "NAME"), *space = field_of(t, fields, "NAMESPACE");
	const char *own = pod ? pod : name ? name : fields[0];
	_cleanup_str_ struct str full = {};

	str_printf(&full, "%s%s%s", space ? space : "", space ? "/" : "", own);
	return full.error ? -ENOMEM : intake_server(t->at.into, full.data);
}

static bool is_name(const char *column)
{
	return str_starts(column, "CONTAINER") || strcmp(column, "NAME") == 0 || strcmp(column, "POD") == 0 || strcmp(column, "NAMESPACE") == 0;
}

/* A row of docker or kubectl. */
static int take_named_row(struct table *t, char *line)
{
	char *fields[COLUMNS_MAX];
	size_t n = split(line, 2, fields);
	int server, r = 0;

	if (n != t->n) {
		intake_bad(t->at.into, t->at.path, t->at.line, "%zu fields instead of %zu", n, t->n);
		return 0;
	}
	if (!t->has_moment) {
		intake_bad(t->at.into, t->at.path, t->at.line, "a row without a time: write one before each table, as 'date -Is' prints it");
		return 0;
	}
	server = server_of(t, fields);
	for (size_t i = 0; server >= 0 && r >= 0 && i < n; i++)
		if (!is_name(t->columns[i]))
			r = strchr(t->columns[i], '/') ? put_pair(t, server, t->columns[i], fields[i]) :
							 put(t, server, t->columns[i], field_of(t, fields, "POD") ? field_of(t, fields, "NAME") : NULL, FLEET_GAUGE, fields[i], strchr(fields[i], 0));
	return server < 0 ? server : r;
}

/* The time of a row of vmstat: its last two fields, or by its place. False where it has none that is understood. */
static bool set_vmstat_time(struct table *t, char *const *fields)
{
	_cleanup_str_ struct str text = {};

	if (!t->has_times) {
		t->moment = t->at.input->begin + (t->rows - 1) * (t->at.input->step ? t->at.input->step : NS_PER_SEC);
		return true;
	}
	str_printf(&text, "%s %s", fields[t->n - 1], fields[t->n]);
	return !text.error && timestamp_parse(text.data, strchr(text.data, 0), &t->moment) == 0;
}

/* The first row of vmstat has means since the machine's boot, but for the columns before si. A row that is not understood is one, too. */
static int take_vmstat_row(struct table *t, char *line)
{
	char *fields[COLUMNS_MAX];
	size_t n = split(line, 1, fields), values = t->n - t->has_times;
	bool means = false;
	int server, r = 0;

	t->rows++;
	if (n != t->n + t->has_times || n > COLUMNS_MAX) {
		intake_bad(t->at.into, t->at.path, t->at.line, "%zu fields instead of %zu", n, t->n + t->has_times);
		return 0;
	}
	if (!set_vmstat_time(t, fields)) {
		intake_bad(t->at.into, t->at.path, t->at.line, "invalid time '%.20s %.20s'", fields[n - 2], fields[n - 1]);
		return 0;
	}
	server = intake_server(t->at.into, t->at.name);
	for (size_t i = 0; server >= 0 && r >= 0 && i < values; i++) {
		means |= t->rows == 1 && strcmp(t->columns[i], "si") == 0;
		if (!means)
			r = put(t, server, t->columns[i], NULL, FLEET_GAUGE, fields[i], strchr(fields[i], 0));
	}
	return server < 0 ? server : r;
}

/* The line of vmstat's names; its last one is the zone of the times. */
static int take_vmstat_header(struct table *t, const char *line)
{
	bool first = !t->n;
	int r = keep_header(t, line);

	if (r < 0 || !t->n || !first)
		return r;
	if (!t->has_times && !t->at.input->begin) {
		intake_bad(t->at.into, t->at.path, t->at.line, "no times: call vmstat with -t, or say when its first row was written and how far rows lie apart, --begin '2026-11-20 14:00' --step 5s");
		t->n = 0;
		t->refused = true;
		return 0;
	}
	intake_remark(t->at.into, "%s: the rates in the first row are means since boot, and are left out", t->at.path);
	if (!t->has_times)
		intake_remark(t->at.into, "%s has no times: its rows are taken as %lld s apart (--step)", t->at.path,
			      (long long)((t->at.input->step ? t->at.input->step : NS_PER_SEC) / NS_PER_SEC));
	else if (strcmp(t->columns[t->n - 1], "UTC") != 0)
		intake_remark(t->at.into, "%s: its times are %s, and are taken as UTC", t->at.path, t->columns[t->n - 1]);
	return 0;
}

/* A time at the beginning of a line, of one word (2026-11-20T14:00:00Z) or two, and what follows it. */
static char *take_moment(struct table *t, char *line)
{
	size_t n = strcspn(line, " \t");
	int64_t time;

	if (!isdigit((unsigned char)*line) || !memchr(line, '-', n))
		return line;
	if (!memchr(line, 'T', n)) {
		n += strspn(line + n, " \t");
		n += strcspn(line + n, " \t");
	}
	if (timestamp_parse(line, line + n, &time) < 0)
		return line;
	t->moment = time;
	t->has_moment = true;
	return line + n + strspn(line + n, " \t");
}

static int take_line(struct text_lines *l, char *line)
{
	struct table *t = (struct table *)l;

	while (*line == '\x1b') /* docker stats clears the screen */
		line += strcspn(line, "HJKm") + (line[strcspn(line, "HJKm")] != 0);
	if (str_starts(line, "procs ") || str_starts(line, "--procs")) {
		t->is_vmstat = true;
		t->has_times = strstr(line, "timestamp") != NULL;
		return 0;
	}
	if (t->refused)
		return 0;
	if (t->is_vmstat && *line && strspn(line, " ") < strlen(line))
		return line[strspn(line, " ")] == 'r' ? take_vmstat_header(t, line) : t->n ? take_vmstat_row(t, line) : 0;
	line = take_moment(t, line);
	if (!*line || t->is_vmstat)
		return 0;
	if (strstr(line, "CPU(cores)") || strstr(line, "CPU %"))
		return keep_header(t, line);
	if (t->n)
		return take_named_row(t, line);
	intake_bad(l->into, l->path, l->line, "a row before the names of its columns");
	return 0;
}

static void end_file(struct text_lines *l)
{
	struct table *t = (struct table *)l;

	free(t->header);
	*t = (struct table){.at = t->at};
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct table table = {.at = {.input = input, .into = into}};

	return text_lines_load(&table.at, endings, end_file, take_line, ret_error);
}

static int look(const char *piece, size_t n)
{
	_cleanup_free_ char *text = strndup(piece, n < 500 ? n : 500);

	if (!text)
		return 0;
	return str_starts(text, "procs ---") || str_starts(text, "--procs-") || strstr(text, "CPU(cores)  ") || strstr(text, "MEM USAGE / LIMIT  ") ? 90 : 0;
}

static int recognise(const char *location)
{
	return files_recognise(location, endings, look);
}

const struct fleet_source fleet_source_console = {
	.name = "console",
	.help = "what vmstat, docker stats and kubectl top print",
	.recognise = recognise,
	.load = load,
};
