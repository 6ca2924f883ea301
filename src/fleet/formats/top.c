/* Batches of top (top -b):
 *
 *   top - 14:00:00 up  4:46,  0 user,  load average: 5.22, 3.95, 3.33
 *   Tasks: 120 total,   7 running, 113 sleeping,   0 stopped,   0 zombie
 *   %Cpu(s): 17.6 us, 47.1 sy, 35.3 ni,  0.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st
 *   MiB Mem :  24105.1 total,  21239.1 free,    803.1 used,   2385.4 buff/cache
 *   MiB Swap:      0.0 total,      0.0 free,      0.0 used.  23302.0 avail Mem
 *
 *       PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
 *     12492 root      39  19  107232  96996  41116 R  26.1   0.4   0:04.44 python3
 *
 * The server is the file's name. A counter is a line's name and a value's ("Tasks running", "%Cpu(s) us"), or a column with the process as labels
 * (%CPU{PID="12492",COMMAND="python3"}). A batch says its time of day alone: the user says the first one's day.
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
#include "lib/input/number.h"
#include "lib/input/timestamp.h"

#define COLUMNS_MAX 64

static const char *const endings[] = {".top", ".txt", NULL};
/* The columns of a process that are taken, besides its percentages. */
static const char *const sizes_in_kib[] = {"VIRT", "RES", "SHR", "SWAP", "CODE", "DATA", "USED", "RSan", "RSfd", "RSlk", "RSsh"};
static const char *const counts[] = {"nTH", "nMaj", "nMin"};

struct batches {
	struct text_lines at;
	struct text_day day;
	int server;
	bool has_time, refused, told;
	int64_t moment;
	char *header; /* a copy, which columns point into */
	char *columns[COLUMNS_MAX];
	size_t n;
};

static int put(struct batches *b, const char *name, const char *unit, double number)
{
	if (!selection_wants_counter(b->at.input, name) || !selection_wants_time(b->at.input, b->moment))
		return 0;
	return text_lines_put(&b->at, b->server, name, &(struct counter_info){.kind = FLEET_GAUGE, .unit = unit}, b->moment, number);
}

/* "3916", in KiB, or "1.2g"; "5.2" of a percentage. */
static bool parse_value(const char *text, double *ret)
{
	static const char sizes[] = "kmgtp";
	const char *end = strchr(text, 0), *size = end > text ? strchr(sizes, end[-1]) : NULL;

	if (!number_parse_slowly(text, size ? end - 1 : end, ret))
		return false;
	for (; size && size > sizes; size--)
		*ret *= 1024;
	return true;
}

static int bad_value(struct batches *b, const char *text, const char *name)
{
	intake_bad(b->at.into, b->at.path, b->at.line, "'%.40s' of %s is not a number", text, name);
	return 0;
}

/* "7 running" of the line Tasks, "17.6 us" of %Cpu(s), "24105.1 total" of MiB Mem, "16333644k total" of Mem. */
static int take_item(struct batches *b, const char *line, const char *unit, char *item)
{
	_cleanup_str_ struct str name = {};
	size_t n = strspn(item, "-0123456789.,");
	const char *what = item + n;
	double number;

	if (*what == 'k' && what[1] == ' ')
		unit = "KiB";
	what += strspn(what, "k% ");
	if (!number_parse_slowly(item, item + n, &number) || !*what)
		return bad_value(b, item, line);
	str_printf(&name, "%s %s", str_starts(what, "avail") ? "Mem" : line, str_starts(what, "avail") ? "avail" : what);
	return name.error ? -ENOMEM : put(b, name.data, unit, number);
}

/* Items end with a comma ("0.0 us,100.0 sy") or with a point and a blank, neither of which is within a number. */
static char *item_end(char *item)
{
	while (*item && !((*item == ',' && !isdigit((unsigned char)item[-1])) || (*item == '.' && item[1] == ' ')))
		item++;
	return item;
}

/* A line "NAME: VALUE WHAT, VALUE WHAT", of which one of sizes has its unit before the name. */
static int take_items(struct batches *b, char *line, char *colon)
{
	const char *unit = str_starts(line, "%Cpu") || str_starts(line, "Cpu") ? "%" : NULL;
	char *item = colon + 1, *end = colon;
	int r = 0;

	if (line[1] == 'i' && line[2] == 'B' && line[3] == ' ') {
		line[3] = 0;
		unit = line;
		line += 4;
	}
	while (end > line && end[-1] == ' ')
		end--;
	*end = 0;
	while (r >= 0 && *(item += strspn(item, " "))) {
		char *next = item_end(item);

		end = next;
		next += *next != 0;
		do
			*end = 0;
		while (end > item && *--end == ' ');
		r = take_item(b, line, unit, item);
		item = next;
	}
	return r;
}

/* The first line of a batch. */
static int take_head(struct batches *b, char *line)
{
	static const char *const minutes[] = {"load average 1 min", "load average 5 min", "load average 15 min"};
	char *clock = line + strlen("top - "), *end = clock + strcspn(clock, " "), *loads = strstr(line, "load average: "), *rest = NULL;
	int64_t of_day;
	int r = 0;

	b->has_time = false;
	b->n = 0;
	if (timestamp_parse_clock(clock, end, &of_day) < 0) {
		intake_bad(b->at.into, b->at.path, b->at.line, "invalid time '%.20s'", clock);
		return 0;
	}
	if (!b->at.input->begin) {
		intake_bad(b->at.into, b->at.path, b->at.line, "its times have no day: say of which day the first one is, --begin 2026-11-20");
		b->refused = true;
		return 0;
	}
	if (!b->told)
		intake_remark(b->at.into, "%s: its times are local, and are taken as UTC", b->at.path);
	b->told = true;
	b->moment = text_day_time(&b->day, b->at.input->begin, of_day);
	b->has_time = true;
	b->server = intake_server(b->at.into, b->at.name);
	loads = loads ? strtok_r(loads + strlen("load average: "), " ", &rest) : NULL;
	for (size_t i = 0; loads && i < ARRAY_SIZE(minutes) && b->server >= 0 && r >= 0; i++, loads = strtok_r(NULL, " ", &rest)) {
		size_t n = strlen(loads);
		double number;

		n -= n && loads[n - 1] == ',';
		r = number_parse_slowly(loads, loads + n, &number) ? put(b, minutes[i], NULL, number) : bad_value(b, loads, minutes[i]);
	}
	return b->server < 0 ? b->server : r;
}

/* Fields between blanks, of which the last one takes what is left. */
static size_t split(char *line, size_t most, char *fields[COLUMNS_MAX])
{
	size_t n = 0;

	for (char *p = line + strspn(line, " \t"); *p && n < most; n++) {
		fields[n] = p;
		p += strcspn(p, " \t");
		if (*p && n + 1 < most)
			*p++ = 0;
		p += strspn(p, " \t");
		if (n + 1 == most)
			return n + 1;
	}
	return n;
}

static int take_header(struct batches *b, const char *line)
{
	free(b->header);
	b->header = strdup(line);
	b->n = b->header ? split(b->header, COLUMNS_MAX, b->columns) : 0;
	return b->header ? 0 : -ENOMEM;
}

static bool is_label(const char *column)
{
	return strcmp(column, "PID") == 0 || strcmp(column, "COMMAND") == 0;
}

static int take_process(struct batches *b, char *line)
{
	char *fields[COLUMNS_MAX];
	_cleanup_str_ struct str labels = {}, name = {};
	size_t n = split(line, b->n, fields);
	int r = 0;

	if (n != b->n) {
		intake_bad(b->at.into, b->at.path, b->at.line, "%zu fields instead of %zu", n, b->n);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		if (is_label(b->columns[i]))
			str_printf(&labels, "%s%s=\"%.*s\"", labels.len ? "," : "", b->columns[i], (int)strcspn(fields[i], " \t"), fields[i]);
	for (size_t i = 0; i < n && r >= 0; i++) {
		const char *column = b->columns[i];
		bool is_size = ANY_WHERE(k, ARRAY_SIZE(sizes_in_kib), strcmp(sizes_in_kib[k], column) == 0);
		double number;

		if (*column != '%' && !is_size && !ANY_WHERE(k, ARRAY_SIZE(counts), strcmp(counts[k], column) == 0))
			continue;
		if (!parse_value(fields[i], &number)) {
			r = bad_value(b, fields[i], column);
			continue;
		}
		name.len = 0;
		str_printf(&name, "%s{%s}", column, labels.data);
		r = name.error || labels.error ? -ENOMEM : put(b, name.data, *column == '%' ? "%" : is_size ? "KiB" : NULL, number);
	}
	return r;
}

static int take_line(struct text_lines *l, char *line)
{
	struct batches *b = (struct batches *)l;
	char *colon = strchr(line, ':');

	if (str_starts(line, "top - "))
		return b->refused ? 0 : take_head(b, line);
	if (!line[strspn(line, " \t")] || !b->has_time)
		return 0;
	if (b->n)
		return take_process(b, line);
	if (strstr(line, "PID ") && strstr(line, " COMMAND"))
		return take_header(b, line);
	if (colon)
		return take_items(b, line, colon);
	intake_bad(l->into, l->path, l->line, "this is not a line of top's");
	return 0;
}

static void end_file(struct text_lines *l)
{
	struct batches *b = (struct batches *)l;

	free(b->header);
	*b = (struct batches){.at = b->at};
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct batches b = {.at = {.input = input, .into = into}};

	return text_lines_load(&b.at, endings, end_file, take_line, ret_error);
}

static int look(const char *piece, size_t n)
{
	(void)n;
	return str_starts(piece, "top - ") && strstr(piece, "load average: ") ? 95 : 0;
}

static int recognise(const char *location)
{
	return files_recognise_by_content(location, endings, look);
}

const struct fleet_source fleet_source_top = {
	.name = "top",
	.help = "batches of top (top -b)",
	.recognise = recognise,
	.load = load,
};
