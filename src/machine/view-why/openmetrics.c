/* The newest tick for Prometheus: /metrics, and export --format openmetrics. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "machine/view-why/export.h"

#define BRIEF_SHOWN 20 /* programs whose processes lived for less than a sample; the others' are added up */
#define BRIEF_REST  "(others)"

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

/* A counter's growth a second, as a gauge: what is recorded is growth, and a counter that began again with each scrape's
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

static double metric_value(const struct dataset *d, const struct subject *s, size_t f)
{
	uint32_t last = (uint32_t)d->ticks.n - 1;

	return s->features[f].kind == COUNTER ? subject_mean(d, s, f, 0, last) : subject_value(d, s, f, last);
}

static void put_metric(const struct dataset *d, const struct subject *s, size_t f, FILE *out)
{
	const struct feature *feature = &s->features[f];
	double value = metric_value(d, s, f);
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

static void put_head(const struct feature *feature, enum entity_kind kind, FILE *out)
{
	fputs("# TYPE ", out);
	put_metric_name(feature, kind, out);
	fputs(" gauge\n# HELP ", out);
	put_metric_name(feature, kind, out);
	fprintf(out, " %s (%s%s)\n", feature->help, unit_name(feature->unit), feature->kind == COUNTER ? " a second" : "");
}

/* At the newest tick. */
static bool is_there(const struct dataset *d, const struct subject *s, enum entity_kind kind)
{
	uint32_t last = (uint32_t)d->ticks.n - 1;

	return s->info.kind == kind && s->last >= last && s->first <= s->last;
}

static void put_family(const struct dataset *d, enum entity_kind kind, size_t f, FILE *out)
{
	size_t n;
	const struct feature *feature = &features_of(kind, &n)[f];
	bool any = false;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (!is_there(d, s, kind) || !subject_has(s, f))
			continue;
		if (!any)
			put_head(feature, kind, out);
		any = true;
		put_metric(d, s, f, out);
	}
}

/* --- processes that lived for less than a sample --- */

/* All of one name, the one that started them: there may be as many groups as there are parents, and a scrape of a busy machine
 * would be mostly theirs. */
struct brief {
	const char *name;
	double sum[PROCESS_FEATURE_COUNT];
	feature_set present;
	double weight; /* share of what all of them used, of whatever it used most */
};

struct briefs {
	VEC(struct brief) list;
	struct hmap by_name; /* hash of the name -> index + 1 */
};

static struct brief *find_brief(struct briefs *b, const char *name)
{
	uint64_t hash = hmap_hash_text(name);
	uintptr_t known = (uintptr_t)hmap_get(&b->by_name, hash, 0);

	if (known)
		return &b->list.v[known - 1];
	if (VEC_PUSH(b->list, (struct brief){.name = name}) < 0 ||
	    hmap_put(&b->by_name, hash, 0, (void *)(uintptr_t)b->list.n) < 0) /* NOLINT(performance-no-int-to-ptr) */
		return NULL;
	return &b->list.v[b->list.n - 1];
}

static void add_up(const struct dataset *d, struct briefs *b)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		struct brief *brief = is_there(d, s, ENTITY_SHORT_LIVED) ? find_brief(b, s->info.name) : NULL;

		for (size_t f = 0; brief && f < PROCESS_FEATURE_COUNT; f++) {
			double value = subject_has(s, f) ? metric_value(d, s, f) : NAN;

			if (isnan(value))
				continue;
			brief->sum[f] += value;
			brief->present |= FEATURE_BIT(f);
		}
	}
}

static void weigh(struct briefs *b)
{
	static const int matters[] = {FEATURE_CPU_TIME, FEATURE_CHILDREN_SHORT, FEATURE_IO_READ_BYTES, FEATURE_IO_WRITE_BYTES,
				      FEATURE_FAULTS_MINOR};

	for (size_t k = 0; k < sizeof(matters) / sizeof(matters[0]); k++) {
		double all = 0;

		for (size_t i = 0; i < b->list.n; i++)
			all += b->list.v[i].sum[matters[k]];
		for (size_t i = 0; all > 0 && i < b->list.n; i++)
			b->list.v[i].weight = fmax(b->list.v[i].weight, b->list.v[i].sum[matters[k]] / all);
	}
}

static int heaviest_first(const void *a, const void *b)
{
	const struct brief *x = a, *y = b;

	return x->weight != y->weight ? (x->weight < y->weight ? 1 : -1) : strcmp(x->name, y->name);
}

/* Into the one behind the last that is shown. */
static void add_rest(struct briefs *b)
{
	for (size_t i = BRIEF_SHOWN + 1; i < b->list.n; i++) {
		for (size_t f = 0; f < PROCESS_FEATURE_COUNT; f++)
			b->list.v[BRIEF_SHOWN].sum[f] += b->list.v[i].sum[f];
		b->list.v[BRIEF_SHOWN].present |= b->list.v[i].present;
	}
	if (b->list.n > BRIEF_SHOWN) {
		b->list.v[BRIEF_SHOWN].name = BRIEF_REST;
		b->list.n = BRIEF_SHOWN + 1;
	}
}

/* A feature that none of them moved is left out: most processes that live for a moment do one thing. */
static void put_briefs(const struct briefs *b, FILE *out)
{
	size_t n;
	const struct feature *features = features_of(ENTITY_SHORT_LIVED, &n);

	for (size_t f = 0; f < n; f++) {
		bool any = false;

		for (size_t i = 0; i < b->list.n; i++)
			any |= b->list.v[i].sum[f] != 0;
		if (any)
			put_head(&features[f], ENTITY_SHORT_LIVED, out);
		for (size_t i = 0; any && i < b->list.n; i++) {
			if (!(b->list.v[i].present >> f & 1))
				continue;
			put_metric_name(&features[f], ENTITY_SHORT_LIVED, out);
			fputc('{', out);
			put_label("name", b->list.v[i].name, true, out);
			fprintf(out, "} %.9g\n", b->list.v[i].sum[f]);
		}
	}
}

static void put_short_lived(const struct dataset *d, FILE *out)
{
	struct briefs b = {};

	add_up(d, &b);
	weigh(&b);
	if (b.list.n)
		qsort(b.list.v, b.list.n, sizeof(b.list.v[0]), heaviest_first);
	add_rest(&b);
	put_briefs(&b, out);
	VEC_FREE(b.list);
	hmap_free(&b.by_name);
}

void export_openmetrics(const struct dataset *d, FILE *out)
{
	for (int kind = ENTITY_PROCESS; d->ticks.n && kind < ENTITY_KIND_END; kind++) {
		size_t n;

		features_of((enum entity_kind)kind, &n);
		for (size_t f = 0; kind != ENTITY_SHORT_LIVED && f < n; f++)
			put_family(d, (enum entity_kind)kind, f, out);
	}
	if (d->ticks.n)
		put_short_lived(d, out);
	fputs("# EOF\n", out);
}
