#include "machine/view-why/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"

#define LEVELS_MAX TOTALS_ROWS /* programs whose levels are shown one by one; the others' are added up */

const struct metric_unit *metric_unit(const struct feature *f)
{
	static const struct metric_unit units[] = {
		[NS] = {"_seconds", "s", 1e-9},	    [BYTES] = {"_bytes", "By", 1},	   [COUNT] = {"", "1", 1},	     [HZ] = {"_hertz", "Hz", 1},
		[MILLIDEGREE] = {"_celsius", "Cel", 1e-3}, [MICROWATT] = {"_watts", "W", 1e-6}, [PERMILLE] = {"_ratio", "1", 1e-3},
	};

	return &units[f->unit];
}

char *metric_name(const struct metric *m, char *buf, size_t n)
{
	const bool whole = m->kind == ENTITY_PROCESS || m->kind == ENTITY_SYSTEM || m->kind == ENTITY_KERNEL;
	const char *name = m->feature->name, *own = strchr(name, '.');

	if (m->kind >= ENTITY_KIND_END)
		snprintf(buf, n, "%s", name);
	else
		snprintf(buf, n, "%s.%s", m->kind == ENTITY_PROCESS ? "program" : entity_kind_name((enum entity_kind)m->kind), own && !whole ? own + 1 : name);
	return buf;
}

struct container_parts container_parts(const char *container)
{
	const char *name = strrchr(container, '/'), *first = strchr(container, '/');
	struct container_parts p = {};

	if (name && name != first) {
		p.namespace_ = (struct container_part){container, (int)(first - container)};
		p.pod = (struct container_part){first + 1, (int)(name - first - 1)};
	} else if (name && str_starts(container, "pod")) {
		p.uid = (struct container_part){container + 3, (int)(name - container - 3)};
	}
	name = name ? name + 1 : container;
	p.name = (struct container_part){name, (int)strlen(name)};
	return p;
}

/* A writer, and the metric that it has in hand. */
struct walk {
	const struct metric_writer *writer;
	struct metric metric;
	bool begun;
};

static void put(struct walk *w, const struct metric_owner *owner, double value)
{
	if (!w->begun)
		w->writer->begin(&w->metric, w->writer->data);
	w->begun = true;
	w->writer->value(&w->metric, owner, value * metric_unit(w->metric.feature)->scale, w->writer->data);
}

/* --- running sums, and levels of all but programs --- */

static void walk_rows(const struct totals_row *rows, const struct feature *features, size_t n_features, uint32_t kind, const struct metric_writer *writer)
{
	for (size_t f = 0; f < n_features; f++) {
		struct walk w = {writer, {&features[f], kind}, false};

		for (size_t i = 0; i < TOTALS_ROWS; i++) {
			const struct totals_row *row = totals_at(rows, i);

			int64_t value = row ? __atomic_load_n(&row->values[f], __ATOMIC_RELAXED) : 0;

			if (kind == TOTALS_RULE && f == TOTALS_RULE_CONTINUING)
				value = value > 0;
			if (row && row->kind == kind && row->present >> f & 1)
				put(&w, &(struct metric_owner){row->name, row->unit, row->container}, (double)value);
		}
	}
}

static void walk_totals(const struct totals_row *rows, const struct metric_writer *writer)
{
	static const struct feature rule[] = {
		[TOTALS_RULE_INCIDENTS] = {.name = "incidents", .unit = COUNT, .kind = COUNTER, .help = "incidents that a rule found since the recorder began"},
		[TOTALS_RULE_CONTINUING] = {.name = "slow", .unit = COUNT, .kind = GAUGE, .help = "1 while an incident of the rule continues"},
	};
	static const struct feature recorder[] = {
		[TOTALS_RECORDER_TICKS] = {.name = "recorder.ticks", .unit = COUNT, .kind = COUNTER, .help = "samples that the recorder took"},
		[TOTALS_RECORDER_STARTED] = {.name = "recorder.start_time", .unit = NS, .kind = GAUGE, .help = "when the recorder began, since 1970"},
		[TOTALS_RECORDER_LAST] = {.name = "recorder.last_tick_time", .unit = NS, .kind = GAUGE, .help = "when it took the last sample, since 1970"},
	};

	for (uint32_t kind = ENTITY_PROCESS; kind < ENTITY_KIND_END; kind++) {
		size_t n;
		const struct feature *features = features_of((enum entity_kind)kind, &n);

		walk_rows(rows, features, n, kind, writer);
	}
	walk_rows(rows, rule, ARRAY_SIZE(rule), TOTALS_RULE, writer);
	walk_rows(rows, recorder, ARRAY_SIZE(recorder), TOTALS_RECORDER, writer);
}

/* --- levels of programs, as they are in the newest tick --- */

struct level {
	struct metric_owner owner;
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
	struct metric_owner owner = {label ? label : info->name, info->unit ? info->unit : "", info->container ? info->container : ""};
	uint64_t hash;
	uintptr_t known;

	if (l->list.n >= LEVELS_MAX)
		owner = (struct metric_owner){TOTALS_OTHERS, "", ""};
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

static void walk_levels(const struct levels *l, const struct metric_writer *writer)
{
	static const struct feature processes = {.name = "processes", .unit = COUNT, .kind = GAUGE, .help = "processes that live"};
	struct walk all = {writer, {&processes, ENTITY_PROCESS}, false};
	size_t n;
	const struct feature *features = features_of(ENTITY_PROCESS, &n);

	for (size_t f = 0; f < n; f++) {
		struct walk w = {writer, {&features[f], ENTITY_PROCESS}, false};

		VEC_EACH(level, l->list)
			if (features[f].kind != COUNTER && level->value[f] != 0)
				put(&w, &level->owner, level->value[f]);
	}
	VEC_EACH(level, l->list)
		put(&all, &level->owner, level->processes);
}

static void walk_programs(const struct dataset *d, const struct metric_writer *writer)
{
	struct levels l = {};
	uint32_t last = (uint32_t)d->ticks.n - 1;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		struct level *level = s->info.kind == ENTITY_PROCESS && s->last == last ? find_level(&l, &s->info) : NULL;

		if (level)
			add_level(d, s, level);
	}
	walk_levels(&l, writer);
	VEC_FREE_EACH(l.list, free(each->label));
	hmap_free(&l.by_owner);
}

void metrics_walk(const struct metrics *m, const struct metric_writer *writer)
{
	static const struct feature culprit = {.name = "culprit.info", .unit = COUNT, .kind = GAUGE, .help = "a program that is blamed for an incident which continues"};
	struct walk culprits = {writer, {&culprit, METRIC_CULPRIT}, false};

	if (m->d->ticks.n)
		walk_programs(m->d, writer);
	walk_totals(m->rows, writer);
	for (size_t i = 0; i < m->n_culprits; i++)
		put(&culprits, &(struct metric_owner){m->culprits[i], "", ""}, 1);
}
