/* For Prometheus, in its text format: /metrics, and export --format prometheus.
 *
 * Names are as its conventions want them: base units (seconds, bytes), `_total` for running sums. Of a program one series a feature, for all its
 * processes, so that a scrape has a bound; who wants processes asks whyslow.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "machine/view-why/export.h"

#define LEVELS_MAX TOTALS_ROWS /* programs whose levels are shown one by one; the others' are added up */

/* --- names and labels --- */

struct metric {
	const struct feature *feature;
	enum entity_kind kind;
	char name[128];
	double scale; /* to the base unit */
};

static const char *ending_of(enum unit unit, double *ret_scale)
{
	static const struct {
		const char *ending;
		double scale;
	} units[] = {
		[NS] = {"_seconds", 1e-9},  [BYTES] = {"_bytes", 1},	      [COUNT] = {"", 1},	  [HZ] = {"_hertz", 1},
		[MILLIDEGREE] = {"_celsius", 1e-3}, [MICROWATT] = {"_watts", 1e-6}, [PERMILLE] = {"_ratio", 1e-3},
	};

	*ret_scale = units[unit].scale;
	return units[unit].ending;
}

static void replace_ending(char *name, const char *ending, const char *with)
{
	size_t length = strlen(name), n = strlen(ending);

	if (length > n && strcmp(name + length - n, ending) == 0)
		memcpy(name + length - n, with, strlen(with) + 1); /* which is no longer */
}

/* A program's "io.read_bytes" is whyslow_program_io_read_bytes_total; a disk's "disk.queue" is whyslow_disk_queue. */
static void name_metric(const struct feature *f, enum entity_kind kind, struct metric *ret)
{
	bool all = kind == ENTITY_PROCESS || kind == ENTITY_SYSTEM || kind == ENTITY_KERNEL;
	const char *own = all ? NULL : strchr(f->name, '.');
	const char *unit = ending_of(f->unit, &ret->scale);
	char name[80];

	ret->feature = f;
	ret->kind = kind;
	snprintf(name, sizeof(name) - 8, "whyslow_%s_%s", kind == ENTITY_PROCESS ? "program" : entity_kind_name(kind), own ? own + 1 : f->name);
	for (char *c = name; *c; c++)
		if (*c == '.' || *c == '-')
			*c = '_';
	if (f->kind != COUNTER) { /* these endings mean other kinds of metrics */
		replace_ending(name, "_count", "");
		replace_ending(name, "_total", "_size");
	}
	replace_ending(name, unit, "");
	snprintf(ret->name, sizeof(ret->name), "%s%s%s", name, unit, f->kind == COUNTER ? "_total" : "");
}

static void put_head(const struct metric *m, FILE *out)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->feature->help, m->name, m->feature->kind == COUNTER ? "counter" : "gauge");
}

static void put_label(const char *name, const char *value, bool *any, FILE *out)
{
	if (!*value)
		return;
	fprintf(out, "%s%s=\"", *any ? "," : "{", name);
	*any = true;
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', out);
		fputc(*value == '\n' ? ' ' : *value, out);
	}
	fputc('"', out);
}

/* Whose value a line has. */
struct owner {
	const char *name, *unit, *container;
};

static void put_value(const struct metric *m, const struct owner *owner, double value, FILE *out)
{
	static const char *const labels[ENTITY_KIND_END] = {
		[ENTITY_PROCESS] = "program", [ENTITY_CPU] = "cpu", [ENTITY_DISK] = "device", [ENTITY_FILESYSTEM] = "mountpoint",
		[ENTITY_INTERFACE] = "device", [ENTITY_CGROUP] = "cgroup", [ENTITY_SENSOR] = "sensor", [ENTITY_KERNEL] = "work",
	};
	bool any = false;

	fputs(m->name, out);
	if (labels[m->kind])
		put_label(labels[m->kind], owner->name, &any, out);
	put_label("unit", owner->unit, &any, out);
	put_label("container", owner->container, &any, out);
	fprintf(out, "%s %.15g\n", any ? "}" : "", value * m->scale);
}

/* --- running sums, and levels of all but programs --- */

static void put_family(const struct totals_row *rows, enum entity_kind kind, size_t f, FILE *out)
{
	size_t n;
	struct metric m;
	bool any = false;

	name_metric(&features_of(kind, &n)[f], kind, &m);
	for (size_t i = 0; i < TOTALS_ROWS; i++) {
		const struct totals_row *row = totals_at(rows, i);

		if (!row || row->kind != (uint32_t)kind || !(row->present >> f & 1))
			continue;
		if (!any)
			put_head(&m, out);
		any = true;
		put_value(&m, &(struct owner){row->name, row->unit, row->container},
			  (double)__atomic_load_n(&row->values[f], __ATOMIC_RELAXED), out);
	}
}

/* --- levels of programs, as they are in the newest tick --- */

struct level {
	struct owner owner;
	char *label;
	double value[PROCESS_FEATURE_COUNT];
	double processes;
};

struct levels {
	VEC(struct level) list;
	struct hmap by_owner; /* (hash, 0) -> index + 1 */
};

static struct level *find_level(struct levels *l, const struct entity_info *info)
{
	_cleanup_free_ char *label = entity_label(info);
	struct owner owner = {label ? label : info->name, info->unit ? info->unit : "", info->container ? info->container : ""};
	uint64_t hash;
	uintptr_t known;

	if (l->list.n >= LEVELS_MAX)
		owner = (struct owner){TOTALS_OTHERS, "", ""};
	hash = hmap_hash_text(owner.name) ^ hmap_hash(hmap_hash_text(owner.unit), hmap_hash_text(owner.container));
	known = (uintptr_t)hmap_get(&l->by_owner, hash, 0);
	if (known)
		return &l->list.v[known - 1];
	if (VEC_PUSH(l->list, (struct level){.owner = owner}) < 0)
		return NULL;
	if (owner.name == label)
		l->list.v[l->list.n - 1].label = TAKE(label);
	(void)hmap_put(&l->by_owner, hash, 0, (void *)(uintptr_t)l->list.n); /* NOLINT(performance-no-int-to-ptr) */
	return &l->list.v[l->list.n - 1];
}

static void add_level(const struct dataset *d, const struct subject *s, struct level *level)
{
	for (size_t f = 0; f < PROCESS_FEATURE_COUNT; f++) {
		double value = s->features[f].kind != COUNTER && subject_has(s, f) ? subject_value(d, s, f, s->last) : NAN;

		if (!isnan(value))
			level->value[f] = feature_together(&s->features[f], level->processes > 0 ? level->value[f] : 0, value);
	}
	level->processes++;
}

static void put_levels(const struct levels *l, FILE *out)
{
	static const struct feature processes = {.name = "processes", .unit = COUNT, .kind = GAUGE, .help = "processes that live"};
	size_t n;
	const struct feature *features = features_of(ENTITY_PROCESS, &n);
	struct metric m;

	for (size_t f = 0; f < n; f++) {
		bool any = false;

		name_metric(&features[f], ENTITY_PROCESS, &m);
		for (size_t i = 0; features[f].kind != COUNTER && i < l->list.n; i++) {
			if (l->list.v[i].value[f] == 0)
				continue;
			if (!any)
				put_head(&m, out);
			any = true;
			put_value(&m, &l->list.v[i].owner, l->list.v[i].value[f], out);
		}
	}
	if (!l->list.n)
		return;
	name_metric(&processes, ENTITY_PROCESS, &m);
	put_head(&m, out);
	for (size_t i = 0; i < l->list.n; i++)
		put_value(&m, &l->list.v[i].owner, l->list.v[i].processes, out);
}

static void put_programs_levels(const struct dataset *d, FILE *out)
{
	struct levels l = {};
	uint32_t last = (uint32_t)d->ticks.n - 1;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		struct level *level = s->info.kind == ENTITY_PROCESS && s->last == last ? find_level(&l, &s->info) : NULL;

		if (level)
			add_level(d, s, level);
	}
	put_levels(&l, out);
	VEC_FREE_EACH(l.list, free(each->label));
	hmap_free(&l.by_owner);
}

/* --- what rules found --- */

static void put_rules(const struct totals_row *rows, size_t value, const char *head, const char *name, FILE *out)
{
	fputs(head, out);
	for (size_t i = 0; rows && i < TOTALS_ROWS; i++) {
		const struct totals_row *row = totals_at(rows, i);
		bool any = false;
		int64_t n = row ? __atomic_load_n(&row->values[value], __ATOMIC_RELAXED) : 0;

		if (!row || row->kind != TOTALS_RULE)
			continue;
		fputs(name, out);
		put_label("rule", row->name, &any, out);
		fprintf(out, "%s %" PRId64 "\n", any ? "}" : "", value == TOTALS_RULE_CONTINUING ? n > 0 : n);
	}
}

static void put_culprits(const char *const *culprits, size_t n, FILE *out)
{
	fputs("# HELP whyslow_culprit_info a program that is blamed for an incident which continues\n# TYPE whyslow_culprit_info gauge\n", out);
	for (size_t i = 0; i < n; i++) {
		bool any = false;

		fputs("whyslow_culprit_info", out);
		put_label("program", culprits[i], &any, out);
		fputs("} 1\n", out);
	}
}

void export_prometheus(const struct dataset *d, const struct totals_row *rows, const char *const *culprits, size_t n_culprits, FILE *out)
{
	fputs("# HELP whyslow_build_info which whyslow answers\n# TYPE whyslow_build_info gauge\n"
	      "whyslow_build_info{version=\"" WHYSLOW_VERSION "\"} 1\n", out);
	if (d->ticks.n)
		put_programs_levels(d, out);
	for (int kind = ENTITY_PROCESS; rows && kind < ENTITY_KIND_END; kind++) {
		size_t n;

		features_of((enum entity_kind)kind, &n);
		for (size_t f = 0; f < n; f++)
			put_family(rows, (enum entity_kind)kind, f, out);
	}
	put_rules(rows, TOTALS_RULE_INCIDENTS, "# HELP whyslow_incidents_total incidents that a rule found since the recorder began\n# TYPE whyslow_incidents_total counter\n",
		  "whyslow_incidents_total", out);
	put_rules(rows, TOTALS_RULE_CONTINUING, "# HELP whyslow_slow 1 while an incident of the rule continues\n# TYPE whyslow_slow gauge\n", "whyslow_slow", out);
	put_culprits(culprits, n_culprits, out);
}
