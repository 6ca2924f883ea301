#include "machine/view-why/export.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/view/csv.h"
#include "lib/view/json.h"

/* The next entry of each feature while time goes by, for one subject. */
struct cursor {
	size_t next[FEATURES_MAX];
};

static double value_of(const struct dataset *d, const struct subject *s, size_t f, size_t entry)
{
	const struct series *series = &s->series[f];
	double value = (double)series->value[entry] * (double)s->features[f].quantum;
	struct growth_time grew;
	int64_t span;

	if (s->features[f].kind != COUNTER)
		return value;
	grew = subject_growth_time(d, s, f, entry);
	span = grew.end - grew.begin;
	return span > 0 ? value / ((double)span / 1e9) : NAN;
}

static void put_csv_row(const struct dataset *d, const struct subject *s, size_t f, size_t entry, FILE *out)
{
	const struct entity_info *info = &s->info;
	double value = value_of(d, s, f, entry);

	if (isnan(value))
		return;
	fprintf(out, "%s,%s,%u,%u,%" PRIu64 ",", CLOCK_RFC3339(d->ticks.v[s->series[f].tick[entry]].wall),
		entity_kind_name(info->kind), info->id, info->pid, info->start);
	csv_put_text(info->name, out);
	fprintf(out, ",%s,%s%s,%.9g\n", s->features[f].name, unit_name(s->features[f].unit),
		s->features[f].kind == COUNTER ? "/s" : "", value);
}

/* Calls `put` for every entry of a tick: time by time, subject by subject. */
static int walk(const struct dataset *d, int (*put)(const struct dataset *, const struct subject *, uint32_t tick,
						   const struct cursor *, feature_set changed, void *),
		void *context)
{
	_cleanup_free_ struct cursor *cursors = calloc(d->subjects.n ? d->subjects.n : 1, sizeof(*cursors));
	int r = cursors ? 0 : -ENOMEM;

	for (uint32_t t = 0; r == 0 && t < d->ticks.n; t++)
		for (size_t i = 0; r == 0 && i < d->subjects.n; i++) {
			const struct subject *s = d->subjects.v[i];
			feature_set changed = 0;

			if (t < s->first || t > s->last)
				continue;
			for (size_t f = 0; f < s->n_features; f++)
				if (cursors[i].next[f] < s->series[f].n && s->series[f].tick[cursors[i].next[f]] == t)
					changed |= FEATURE_BIT(f);
			if (changed)
				r = put(d, s, t, &cursors[i], changed, context);
			for (; changed; changed &= changed - 1)
				cursors[i].next[feature_set_first(changed)]++;
		}
	return r;
}

static int put_csv(const struct dataset *d, const struct subject *s, uint32_t tick, const struct cursor *c,
		   feature_set changed, void *out)
{
	(void)tick;
	for (; changed; changed &= changed - 1) {
		size_t f = feature_set_first(changed);

		put_csv_row(d, s, f, c->next[f], out);
	}
	return 0;
}

void export_csv(const struct dataset *d, FILE *out)
{
	fputs("time,kind,id,pid,start,name,feature,unit,value\n", out);
	(void)walk(d, put_csv, out);
}

static int put_json(const struct dataset *d, const struct subject *s, uint32_t tick, const struct cursor *c,
		    feature_set changed, void *out)
{
	json_t *values = json_object(), *row;

	for (; changed; changed &= changed - 1) {
		size_t f = feature_set_first(changed);
		double value = value_of(d, s, f, c->next[f]);

		json_object_set_new(values, s->features[f].name, isnan(value) ? json_null() : json_real(value));
	}
	row = json_pack("{s:s, s:s, s:I, s:I, s:s?, s:s?, s:s?, s:o}", "time",
			CLOCK_RFC3339(d->ticks.v[tick].wall), "kind", entity_kind_name(s->info.kind), "id",
			(json_int_t)s->info.id, "pid", (json_int_t)s->info.pid, "name", s->info.name, "exe", s->info.exe, "unit",
			s->info.unit, "values", values);
	if (!row)
		return -ENOMEM;
	json_print(row, JSON_COMPACT | JSON_REAL_PRECISION(9), out);
	return 0;
}

int export_jsonl(const struct dataset *d, FILE *out)
{
	return walk(d, put_json, out);
}
