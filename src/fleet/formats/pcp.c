/* Archives of Performance Co-Pilot (pmlogger), read by libpcp, which is loaded when it is needed.
 *
 * A location is an archive (with or without .meta, .index, .0), a glob, or a folder of archives; each tells which
 * machine it is of. A value of an instance is the counter metric[instance]. Types and semantics are the archive's:
 * PM_SEM_COUNTER is a running sum. What pmlogger wrote within a moment is one row.
 */
#include <errno.h>
#include <pcp/pmapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/model/selection.h"
#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/input/files.h"
#include "lib/system/library.h"

#define ROW_SPREAD    (250 * NS_PER_MS) /* records of one tick of pmlogger's lie some milliseconds apart */
#define INSTANCES_MAX 256		/* beyond it they are processes and the like: no counters of a server */

static const char *const endings[] = {".meta", NULL};

#define PCP_CALLS(CALL) \
	CALL(pmNewContext) CALL(pmDestroyContext) CALL(pmGetArchiveLabel) CALL(pmSetMode) CALL(pmFetchArchive) CALL(pmFreeResult) \
	CALL(pmLookupDesc) CALL(pmLookupText) CALL(pmNameID) CALL(pmNameInDomArchive) CALL(pmExtractValue) CALL(pmUnitsStr_r) CALL(pmErrStr_r)
struct pcp {
	PCP_CALLS(LIBRARY_CALL)
};

static const struct library libpcp = LIBRARY("libpcp.so.3", "libpcp3", PCP_CALLS);

struct metric {
	pmDesc desc;
	char *name, *unit, *help;
	bool wanted;
	size_t instances;
	int64_t row; /* it was last put into */
	struct hmap counters; /* (instance, 0) -> counter + 1; UINTPTR_MAX = not wanted */
};

struct archive {
	const struct pcp *pcp;
	const struct fleet_input *input;
	struct intake *into;
	const char *path;
	int server;
	int64_t row; /* the moment of the row being read */
	uint64_t records;
	struct hmap metrics; /* (pmid, 1) -> struct metric */
	uint64_t crowded;    /* metrics with too many instances */
};

static void archive_free(struct archive *a)
{
	HMAP_FOREACH(slot, &a->metrics) {
		struct metric *m = slot->value;

		FREE_ALL(m->name, m->unit, m->help);
		hmap_free(&m->counters);
		free(m);
	}
	hmap_free(&a->metrics);
}

static int bad(struct archive *a, int code)
{
	char words[PM_MAXERRMSGLEN];

	intake_bad(a->into, a->path, 0, "%s", a->pcp->pmErrStr_r(code, words, sizeof(words)));
	return 0;
}

static bool is_number(int type)
{
	return type == PM_TYPE_32 || type == PM_TYPE_U32 || type == PM_TYPE_64 || type == PM_TYPE_U64 || type == PM_TYPE_FLOAT ||
	       type == PM_TYPE_DOUBLE;
}

/* Looks a metric up in the archive; one that it does not describe is not wanted. */
static void describe(const struct archive *a, pmID id, struct metric *m)
{
	char units[64];

	if (a->pcp->pmLookupDesc(id, &m->desc) < 0 || !is_number(m->desc.type) || a->pcp->pmNameID(id, &m->name) < 0)
		return;
	m->wanted = true;
	m->unit = strdup(a->pcp->pmUnitsStr_r(&m->desc.units, units, sizeof(units)));
	if (a->pcp->pmLookupText(id, PM_TEXT_ONELINE, &m->help) < 0)
		m->help = NULL;
}

static struct metric *get_metric(struct archive *a, pmID id)
{
	struct metric *m = hmap_get(&a->metrics, id, 1);

	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	if (!m || hmap_put(&a->metrics, id, 1, m) < 0) {
		free(m);
		return NULL;
	}
	describe(a, id, m);
	return m;
}

static int name_counter(const struct archive *a, const struct metric *m, int instance, struct str *out)
{
	char *name = NULL;

	str_puts(out, m->name);
	if (m->desc.indom != PM_INDOM_NULL) {
		if (a->pcp->pmNameInDomArchive(m->desc.indom, instance, &name) < 0)
			str_printf(out, "[%d]", instance);
		else
			str_printf(out, "[%s]", name);
		free(name);
	}
	return out->error;
}

/* The counter of an instance; -1 = not wanted. */
static int get_counter(struct archive *a, struct metric *m, int instance)
{
	uintptr_t known = (uintptr_t)hmap_get(&m->counters, (uint64_t)instance, 0);
	struct counter_info info = {m->desc.sem == PM_SEM_COUNTER ? FLEET_COUNTER : FLEET_GAUGE, m->unit && *m->unit ? m->unit : NULL,
				    m->help};
	_cleanup_str_ struct str name = {};
	int counter = -1;

	if (known)
		return known == UINTPTR_MAX ? -1 : (int)(known - 1);
	if (m->instances >= INSTANCES_MAX) {
		a->crowded += m->instances++ == INSTANCES_MAX;
		return -1;
	}
	m->instances++;
	if (name_counter(a, m, instance, &name) < 0)
		return -ENOMEM;
	if (selection_wants_counter(a->input, name.data))
		counter = intake_counter(a->into, name.data, &info);
	if (counter < -1 || hmap_put(&m->counters, (uint64_t)instance, 0, (void *)(counter < 0 ? UINTPTR_MAX : (uintptr_t)counter + 1)) < 0)
		return -ENOMEM;
	return counter;
}

static int take_values(struct archive *a, const pmValueSet *set)
{
	struct metric *m = set->numval > 0 ? get_metric(a, set->pmid) : NULL;

	if (set->numval <= 0)
		return 0;
	if (!m)
		return -ENOMEM;
	m->row = a->row;
	for (int i = 0; m->wanted && i < set->numval; i++) {
		int counter = get_counter(a, m, set->vlist[i].inst), r;
		pmAtomValue value;

		if (counter < -1)
			return counter;
		if (counter < 0 || a->pcp->pmExtractValue(set->valfmt, &set->vlist[i], m->desc.type, &value, PM_TYPE_DOUBLE) < 0)
			continue;
		r = intake_put(a->into, a->server, counter, a->row, value.d);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A metric that is there again, or a later moment, begins a row. */
static bool begins_row(const struct archive *a, const pmResult *record, int64_t time)
{
	if (time < a->row || time - a->row > ROW_SPREAD)
		return true;
	for (int i = 0; i < record->numpmid; i++) {
		const struct metric *m = hmap_get(&a->metrics, record->vset[i]->pmid, 1);

		if (m && m->row == a->row)
			return true;
	}
	return false;
}

static int take_record(struct archive *a, const pmResult *record)
{
	int64_t time = record->timestamp.tv_sec * NS_PER_SEC + record->timestamp.tv_usec * 1000;
	int r = 0;

	a->records++;
	if (begins_row(a, record, time))
		a->row = time;
	if (!selection_wants_time(a->input, a->row))
		return 0;
	for (int i = 0; r == 0 && i < record->numpmid; i++)
		r = take_values(a, record->vset[i]);
	return r;
}

static int take_records(struct archive *a, const pmLogLabel *label)
{
	pmResult *record;
	int r = a->pcp->pmSetMode(PM_MODE_FORW, &label->ll_start, 0), code;

	if (r < 0)
		return bad(a, r);
	while ((code = a->pcp->pmFetchArchive(&record)) >= 0) {
		r = take_record(a, record);
		a->pcp->pmFreeResult(record);
		if (r < 0)
			return r;
		intake_progress(a->into, a->records, 0);
	}
	return code == PM_ERR_EOL ? 0 : bad(a, code);
}

static int take_archive(struct archive *a)
{
	int context = a->pcp->pmNewContext(PM_CONTEXT_ARCHIVE, a->path), r;
	pmLogLabel label;

	if (context < 0)
		return bad(a, context);
	r = a->pcp->pmGetArchiveLabel(&label);
	if (r < 0) {
		bad(a, r);
	} else {
		a->server = intake_server(a->into, label.ll_hostname);
		r = a->server < 0 ? a->server : take_records(a, &label);
	}
	a->pcp->pmDestroyContext(context);
	if (a->crowded)
		intake_remark(a->into, "%s: %llu metrics have more than %d instances (processes and the like): the others were left out",
			      a->path, (unsigned long long)a->crowded, INSTANCES_MAX);
	return r == -ENOMEM ? r : 0;
}

/* "FOLDER/20261120.meta.xz" -> "FOLDER/20261120" */
static char *base_of(const char *path)
{
	static const char *const parts[] = {".meta", ".index", ".0"};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const char *found = strstr(path, parts[i]), *next;

		while (found && (next = strstr(found + 1, parts[i])))
			found = next;
		if (found && !strchr(found, '/'))
			return strndup(path, (size_t)(found - path));
	}
	return strdup(path);
}

/* The archives that a location names, by their .meta files. */
static int list_archives(const char *location, struct file_list *ret)
{
	_cleanup_free_ char *base = base_of(location), *meta = NULL, *pattern = NULL;

	if (!base || asprintf(&meta, "%s.meta", base) < 0 || asprintf(&pattern, "%s.meta*", base) < 0)
		return -ENOMEM;
	if (access(meta, F_OK) == 0)
		return files_list(meta, endings, ret);
	if (files_list(pattern, endings, ret) == 0)
		return 0;
	return files_list(location, endings, ret);
}

static int load(const struct fleet_input *input, struct intake *into, char **ret_error)
{
	struct file_list files;
	struct pcp pcp;
	int r = list_archives(input->location, &files);

	if (r < 0)
		return str_fail(ret_error, r, "%s: %s", input->location,
				 r == -ENOENT ? "there is no archive of pmlogger's (.meta, .index, .0)" : strerror(-r));
	r = library_load(&libpcp, &pcp, ret_error);
	for (size_t i = 0; r == 0 && i < files.paths.n; i++) {
		_cleanup_free_ char *base = base_of(files.paths.v[i]);
		struct archive a = {.pcp = &pcp, .input = input, .into = into, .path = base};

		r = base ? take_archive(&a) : -ENOMEM;
		archive_free(&a);
	}
	file_list_free(&files);
	return r;
}

static int recognise(const char *location)
{
	struct file_list files;
	int score;

	if (list_archives(location, &files) < 0)
		return 0;
	score = file_has_ending(files.paths.v[0], endings) ? 60 : 0;
	file_list_free(&files);
	return score;
}

const struct fleet_source fleet_source_pcp = {
	.name = "pcp",
	.help = "archives of Performance Co-Pilot's pmlogger (needs libpcp3)",
	.recognise = recognise,
	.load = load,
};
