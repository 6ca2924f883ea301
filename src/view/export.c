#include "view/export.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "view/json.h"

/* The next entry of each feature while time goes by, for one subject. */
struct cursor {
	size_t next[FEATURES_MAX];
};

static double value_of(const struct dataset *d, const struct subject *s, size_t f, size_t entry)
{
	const struct series *series = &s->series[f];
	double value = (double)series->value[entry] * (double)s->features[f].quantum;
	int64_t span = d->ticks.v[series->tick[entry]].span;

	if (s->features[f].kind != COUNTER)
		return value;
	return span > 0 ? value / ((double)span / 1e9) : NAN;
}

void csv_text(const char *text, FILE *out)
{
	if (!text || !strpbrk(text, "\",\r\n")) {
		fputs(text ? text : "", out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void put_csv_row(const struct dataset *d, const struct subject *s, size_t f, size_t entry, FILE *out)
{
	const struct entity_info *info = &s->info;
	double value = value_of(d, s, f, entry);
	char at[40];

	if (isnan(value))
		return;
	fprintf(out, "%s,%s,%u,%u,%" PRIu64 ",", format_rfc3339(d->ticks.v[s->series[f].tick[entry]].wall, at, sizeof(at)),
		entity_kind_name(info->kind), info->id, info->pid, info->start);
	csv_text(info->name, out);
	fprintf(out, ",%s,%s%s,%.9g\n", s->features[f].name, unit_name(s->features[f].unit),
		s->features[f].kind == COUNTER ? "/s" : "", value);
}

/* Calls `put` for every entry of a tick: time by time, subject by subject. */
static int walk(const struct dataset *d, int (*put)(const struct dataset *, const struct subject *, uint32_t tick,
						   const struct cursor *, uint64_t changed, void *),
		void *context)
{
	struct cursor *cursors = calloc(d->subjects.n ? d->subjects.n : 1, sizeof(*cursors));
	int r = cursors ? 0 : -ENOMEM;

	for (uint32_t t = 0; r == 0 && t < d->ticks.n; t++)
		for (size_t i = 0; r == 0 && i < d->subjects.n; i++) {
			const struct subject *s = d->subjects.v[i];
			uint64_t changed = 0;

			if (t < s->first || t > s->last)
				continue;
			for (size_t f = 0; f < s->n_features; f++)
				if (cursors[i].next[f] < s->series[f].n && s->series[f].tick[cursors[i].next[f]] == t)
					changed |= 1ull << f;
			if (changed)
				r = put(d, s, t, &cursors[i], changed, context);
			for (; changed; changed &= changed - 1)
				cursors[i].next[__builtin_ctzll(changed)]++;
		}
	free(cursors);
	return r;
}

static int put_csv(const struct dataset *d, const struct subject *s, uint32_t tick, const struct cursor *c,
		   uint64_t changed, void *out)
{
	(void)tick;
	for (; changed; changed &= changed - 1) {
		size_t f = (size_t)__builtin_ctzll(changed);

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
		    uint64_t changed, void *out)
{
	json_t *values = json_object(), *row;
	char at[40];

	for (; changed; changed &= changed - 1) {
		size_t f = (size_t)__builtin_ctzll(changed);
		double value = value_of(d, s, f, c->next[f]);

		json_object_set_new(values, s->features[f].name, isnan(value) ? json_null() : json_real(value));
	}
	row = json_pack("{s:s, s:s, s:I, s:I, s:s?, s:s?, s:o}", "time",
			format_rfc3339(d->ticks.v[tick].wall, at, sizeof(at)), "kind", entity_kind_name(s->info.kind), "id",
			(json_int_t)s->info.id, "pid", (json_int_t)s->info.pid, "name", s->info.name, "exe", s->info.exe, "values",
			values);
	if (!row)
		return -ENOMEM;
	json_print(row, JSON_COMPACT | JSON_REAL_PRECISION(9), out);
	return 0;
}

int export_jsonl(const struct dataset *d, FILE *out)
{
	return walk(d, put_json, out);
}

static void put_label(const char *name, const char *value, bool first, FILE *out)
{
	fprintf(out, "%s%s=\"", first ? "" : ",", name);
	for (; value && *value; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', out);
		fputc(*value == '\n' ? ' ' : *value, out);
	}
	fputc('"', out);
}

static void put_name_part(const char *text, FILE *out)
{
	for (; *text; text++)
		fputc(*text == '.' || *text == '-' ? '_' : *text, out);
}

/* A counter's growth a second, as a gauge: what is recorded is growth, and a counter that began anew with each scrape's
 * window would be none. */
static void put_metric_name(const struct feature *f, enum entity_kind kind, FILE *out)
{
	fputs("whyslow_", out);
	put_name_part(entity_kind_name(kind), out);
	fputc('_', out);
	put_name_part(f->name, out);
	if (f->kind == COUNTER)
		fputs("_per_second", out);
}

static void put_metric(const struct dataset *d, const struct subject *s, size_t f, FILE *out)
{
	uint32_t last = (uint32_t)d->ticks.n - 1;
	const struct feature *feature = &s->features[f];
	double value = feature->kind == COUNTER ? subject_mean(d, s, f, 0, last) : subject_value(d, s, f, last);
	char pid[16];

	if (isnan(value))
		return;
	put_metric_name(feature, s->info.kind, out);
	fputc('{', out);
	put_label("name", s->info.name, true, out);
	if (s->info.pid) {
		snprintf(pid, sizeof(pid), "%u", s->info.pid);
		put_label("pid", pid, false, out);
	}
	if (s->info.unit)
		put_label("unit", s->info.unit, false, out);
	fprintf(out, "} %.9g\n", value);
}

static void put_family(const struct dataset *d, enum entity_kind kind, size_t f, FILE *out)
{
	size_t n;
	const struct feature *feature = &features_of(kind, &n)[f];
	uint32_t last = (uint32_t)d->ticks.n - 1;
	bool any = false;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->info.kind != kind || s->last < last || s->first > s->last || !subject_has(s, f))
			continue;
		if (!any) {
			fputs("# TYPE ", out);
			put_metric_name(feature, kind, out);
			fputs(" gauge\n# HELP ", out);
			put_metric_name(feature, kind, out);
			fprintf(out, " %s (%s%s)\n", feature->help, unit_name(feature->unit), feature->kind == COUNTER ? " a second" : "");
		}
		any = true;
		put_metric(d, s, f, out);
	}
}

void export_openmetrics(const struct dataset *d, FILE *out)
{
	for (int kind = ENTITY_PROCESS; d->ticks.n && kind < ENTITY_KIND_END; kind++) {
		size_t n;

		features_of((enum entity_kind)kind, &n);
		for (size_t f = 0; f < n; f++)
			put_family(d, (enum entity_kind)kind, f, out);
	}
	fputs("# EOF\n", out);
}
