/* Files that nmon writes (-f, -F):
 *
 *   AAA,host,web-1
 *   CPU_ALL,CPU Total web-1,User%,Sys%,Wait%,Idle%,Steal%,Busy,CPUs       names of a section's columns
 *   ZZZZ,T0001,09:45:17,29-NOV-2026                                       the time of what follows
 *   CPU_ALL,T0001,83.0,16.3,0.0,0.7,0.0,,2
 *
 * Many are sorted, as nmon itself advises, so that the times stand at their end: a file is read twice, for the times first. The counter of a value is its section and column ("CPU_ALL User%"). A negative value is nmon's word for one that this machine does not have. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/formats/text-lines.h"
#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"
#include "lib/input/files.h"
#include "lib/input/quantity.h"
#include "lib/input/timestamp.h"

static const char *const endings[] = {".nmon", NULL};

struct section {
	char *line; /* which the two below point into */
	const char *tag;
	VEC(const char *) columns;
	const char *unit; /* of all its columns; NULL = each name says its own, or none */
};

struct snapshot {
	size_t file;
	uint64_t number; /* 1 of T0001 */
	int64_t time;
};

struct nmon {
	struct text_lines at;
	VEC(struct snapshot) snapshots; /* in ascending order of file and number */
	size_t file;			/* how many were read before it */
	VEC(struct section) sections;
	size_t next; /* rows come in the order of the sections */
	char *host;
	int64_t moment;
	bool has_processes;
};

static char *cut_field(char **at)
{
	return strsep(at, ",");
}

static struct section *find_section(struct nmon *n, const char *tag)
{
	for (size_t i = 0; i < n->sections.n; i++) {
		struct section *s = &n->sections.v[(n->next + i) % n->sections.n];

		if (strcmp(s->tag, tag) == 0) {
			n->next = (size_t)(s - n->sections.v) + 1;
			return s;
		}
	}
	return NULL;
}

static void section_free(struct section *s)
{
	free(s->line);
	VEC_FREE(s->columns);
}

/* "Disk %Busy web-1", "Memory MB web-1" */
static const char *unit_of_title(const char *title)
{
	return strstr(title, "%Busy") || strstr(title, "%Used") ? "%" : str_starts(title, "Memory MB") ? "MB" : NULL;
}

static int keep_section(struct nmon *n, const char *tag, const char *title, const char *names)
{
	struct section s = {.unit = unit_of_title(title)}, *known = find_section(n, tag);
	char *at;
	int r;

	s.line = malloc(strlen(tag) + strlen(names) + 2);
	if (!s.line)
		return -ENOMEM;
	s.tag = strcpy(s.line, tag);
	at = strcpy(s.line + strlen(tag) + 1, names);
	r = 0;
	while (r == 0 && at)
		r = VEC_PUSH(s.columns, cut_field(&at));
	if (r == 0 && known) { /* a recording that was begun again in the same file */
		section_free(known);
		*known = s;
		return 0;
	}
	r = r ?: VEC_PUSH(n->sections, s);
	if (r < 0)
		section_free(&s);
	return r;
}

static int put(struct nmon *n, int server, const struct section *s, const char *column, const char *text)
{
	_cleanup_str_ struct str name = {};
	const char *end = strchr(text, 0), *unit = s->unit ?: (*column && strchr(column, 0)[-1] == '%') ? "%" : NULL;
	char none[QUANTITY_UNIT_MAX];
	double number;

	if (!*text || !*column)
		return 0;
	if (!quantity_parse(text, end, &number, none) || *none) {
		intake_bad(n->at.into, n->at.path, n->at.line, "'%.40s' of %s %s is not a number", text, s->tag, column);
		return 0;
	}
	if (number < 0)
		return 0;
	str_printf(&name, "%s %s", s->tag, column);
	if (name.error)
		return -ENOMEM;
	return selection_wants_counter(n->at.input, name.data) ? text_lines_put(&n->at, server, name.data, &(struct counter_info){.unit = unit}, n->moment, number) : 0;
}

/* 0 = the word names none. */
static uint64_t snapshot_of(const char *word)
{
	uint64_t number;

	return *word == 'T' && str_parse_u64(word + 1, &number) == 0 ? number : 0;
}

ORDER(compare_snapshots, struct snapshot, ASCENDING(file) ?: ASCENDING(number))

static bool find_moment(struct nmon *n, uint64_t number)
{
	const struct snapshot meant = {n->file, number, 0}, *found = n->snapshots.n ? bsearch(&meant, n->snapshots.v, n->snapshots.n, sizeof(meant), compare_snapshots) : NULL;

	n->moment = found ? found->time : 0;
	return found;
}

static int take_row(struct nmon *n, const char *tag, const char *snapshot, char *values)
{
	const struct section *s = find_section(n, tag);
	int server, r = 0;

	if (!s || !find_moment(n, snapshot_of(snapshot))) {
		intake_bad(n->at.into, n->at.path, n->at.line, s ? "%.40s has no time: there is no row ZZZZ of it" : "a row of %.40s, which has no names of columns", s ? snapshot : tag);
		return 0;
	}
	if (!selection_wants_time(n->at.input, n->moment))
		return 0;
	server = intake_server(n->at.into, n->host ?: n->at.name);
	for (size_t i = 0; server >= 0 && r >= 0 && values; i++) {
		const char *text = cut_field(&values);

		if (i < s->columns.n)
			r = put(n, server, s, s->columns.v[i], text);
		else if (*text) {
			intake_bad(n->at.into, n->at.path, n->at.line, "%s has more values than its %zu columns", tag, s->columns.n);
			break;
		}
	}
	return server < 0 ? server : r;
}

/* A fact of the recording; its host is kept. */
static int take_fact(struct nmon *n, const char *name, const char *value)
{
	if (strcmp(name, "host") != 0 || !value)
		return 0;
	free(n->host);
	n->host = strndup(value, strcspn(value, ","));
	return n->host ? 0 : -ENOMEM;
}

/* "ZZZZ,T0001,09:45:17,29-NOV-2026" */
static int take_time(struct text_lines *l, char *line)
{
	struct nmon *n = (struct nmon *)l;
	char *clock = line;
	const char *tag = cut_field(&clock), *name = clock ? cut_field(&clock) : NULL;
	struct snapshot one = {.file = n->file};

	if (!clock || strcmp(tag, "ZZZZ") != 0)
		return 0;
	one.number = snapshot_of(name);
	if (one.number && timestamp_parse_as("%H:%M:%S,%d-%b-%Y", clock, strchr(clock, 0), &one.time) == 0 &&
	    (!n->snapshots.n || compare_snapshots(&n->snapshots.v[n->snapshots.n - 1], &one) < 0))
		return VEC_PUSH(n->snapshots, one);
	intake_bad(l->into, l->path, l->line, "invalid time '%.40s' of '%.20s'; expected T0001,09:45:17,29-NOV-2026, in ascending order", clock, name);
	return 0;
}

static int take_line(struct text_lines *l, char *line)
{
	struct nmon *n = (struct nmon *)l;
	char *rest = line;
	const char *tag = cut_field(&rest), *second = rest ? cut_field(&rest) : NULL;

	if (!second || str_starts(tag, "BBB") || strcmp(tag, "ZZZZ") == 0)
		return 0;
	if (strcmp(tag, "AAA") == 0)
		return take_fact(n, second, rest);
	if (strcmp(tag, "TOP") == 0 || strcmp(tag, "UARG") == 0) {
		if (!n->has_processes)
			intake_remark(l->into, "%s: its processes (TOP) are left out", l->path);
		n->has_processes = true;
		return 0;
	}
	return snapshot_of(second) ? take_row(n, tag, second, rest) : keep_section(n, tag, second, rest ? rest : "");
}

static void end_file(struct text_lines *l)
{
	struct nmon *n = (struct nmon *)l;
	struct nmon next = {.at = n->at, .snapshots = n->snapshots, .file = n->file + 1};

	VEC_FREE_EACH(n->sections, section_free(each));
	free(n->host);
	*n = next;
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct nmon n = {.at = {.input = input, .into = into}};
	int r = text_lines_load(&n.at, endings, end_file, take_time, ret_error);

	n.file = 0;
	if (r == 0) {
		intake_remark(into, "nmon's times are local, and are taken as UTC");
		r = text_lines_load(&n.at, endings, end_file, take_line, ret_error);
	}
	VEC_FREE(n.snapshots);
	return r;
}

static int look(const char *piece, size_t n)
{
	return n > 9 && memcmp(piece, "AAA,", 4) == 0 && memmem(piece, n, "nmon", 4) ? 95 : 0;
}

static int recognise(const char *location)
{
	return files_recognise(location, endings, look);
}

const struct fleet_source fleet_source_nmon = {
	.name = "nmon",
	.help = "nmon's files (also gz, zst, xz)",
	.recognise = recognise,
	.load = load,
};
