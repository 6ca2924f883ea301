#include "model/dataset.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static void subject_free(struct subject *s)
{
	for (size_t i = 0; i < s->n_features; i++) {
		free(s->series[i].tick);
		free(s->series[i].value);
	}
	free(s->series);
	free(s->program);
	entity_info_free(&s->info);
	free(s);
}

void dataset_free(struct dataset *d)
{
	for (size_t i = 0; i < d->subjects.n; i++)
		subject_free(d->subjects.v[i]);
	for (size_t i = 0; i < d->notes.n; i++)
		free(d->notes.v[i].text);
	VEC_FREE(d->subjects);
	VEC_FREE(d->ticks);
	VEC_FREE(d->notes);
	hmap_free(&d->by_id);
}

int dataset_add_tick(struct dataset *d, int64_t boot, int64_t wall, int64_t span)
{
	if (VEC_PUSH(d->ticks, (struct moment){boot, wall, span}) < 0)
		return -ENOMEM;
	return (int)d->ticks.n - 1;
}

struct subject *dataset_subject(const struct dataset *d, uint32_t id)
{
	return hmap_get(&d->by_id, id, 0);
}

static struct subject *add_subject(struct dataset *d, const struct entity_info *info)
{
	struct subject *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->features = features_of(info->kind, &s->n_features);
	s->series = calloc(s->n_features, sizeof(*s->series));
	if (!s->series || VEC_GROW(d->subjects) < 0 || hmap_put(&d->by_id, info->id, 0, s) < 0) {
		free(s->series);
		free(s);
		return NULL;
	}
	d->subjects.v[d->subjects.n++] = s;
	s->first = s->last = d->ticks.n ? (uint32_t)d->ticks.n - 1 : 0;
	return s;
}

struct subject *dataset_define(struct dataset *d, const struct entity_info *info)
{
	struct subject *s = dataset_subject(d, info->id);
	struct entity_info copy;
	char *program;

	if (!s)
		s = add_subject(d, info);
	if (!s || s->n_features == 0)
		return s;
	program = entity_program(info);
	if (!program || entity_info_copy(info, &copy) < 0) {
		free(program);
		return NULL;
	}
	copy.present |= s->info.present;
	entity_info_free(&s->info);
	free(s->program);
	s->info = copy;
	s->program = program;
	return s;
}

void dataset_interrupt(struct dataset *d, uint32_t last, bool recorded)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		struct subject *s = d->subjects.v[i];

		if (s->ended)
			continue;
		s->ended = true;
		s->last = last;
		if (!recorded)
			s->first = s->last + 1;
	}
}

void dataset_finish(struct dataset *d)
{
	for (size_t i = 0; i < d->subjects.n; i++)
		if (!d->subjects.v[i]->ended && d->ticks.n)
			d->subjects.v[i]->last = (uint32_t)d->ticks.n - 1;
}

int series_push(struct series *s, uint32_t tick, int64_t value)
{
	if (s->n == s->allocated) {
		size_t want = s->allocated ? 2 * s->allocated : 4;
		uint32_t *ticks = reallocarray(s->tick, want, sizeof(*ticks));
		int64_t *values;

		if (!ticks)
			return -ENOMEM;
		s->tick = ticks;
		values = reallocarray(s->value, want, sizeof(*values));
		if (!values)
			return -ENOMEM;
		s->value = values;
		s->allocated = want;
	}
	s->tick[s->n] = tick;
	s->value[s->n] = value;
	s->n++;
	return 0;
}

/* How many entries lie at or before a tick. */
static size_t entries_until(const struct series *s, uint32_t tick)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->tick[middle] <= tick)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

double subject_growth(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to)
{
	const struct series *series = &s->series[feature];
	size_t begin = from ? entries_until(series, from - 1) : 0;
	int64_t sum = 0;

	(void)d;
	for (size_t i = begin; i < series->n && series->tick[i] <= to; i++)
		sum += series->value[i];
	return (double)sum * (double)s->features[feature].quantum;
}

static int64_t span_of(const struct dataset *d, uint32_t from, uint32_t to)
{
	int64_t span = 0;

	for (uint32_t t = from; t <= to && t < d->ticks.n; t++)
		span += d->ticks.v[t].span;
	return span;
}

static double gauge_mean(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to)
{
	const struct series *series = &s->series[feature];
	size_t next = entries_until(series, from);
	double sum = 0, weight = 0;

	for (uint32_t t = from; t <= to && t < d->ticks.n; t++) {
		double span = d->ticks.v[t].span ? (double)d->ticks.v[t].span : 1;

		while (next < series->n && series->tick[next] <= t)
			next++;
		if (next == 0)
			continue;
		sum += span * (double)series->value[next - 1];
		weight += span;
	}
	return weight > 0 ? sum / weight * (double)s->features[feature].quantum : NAN;
}

double subject_mean(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to)
{
	int64_t span;

	if (from < s->first)
		from = s->first;
	if (to > s->last)
		to = s->last;
	if (!subject_has(s, feature) || from > to)
		return NAN;
	if (s->features[feature].kind != COUNTER)
		return gauge_mean(d, s, feature, from, to);
	span = span_of(d, from, to);
	return span > 0 ? subject_growth(d, s, feature, from, to) / ((double)span / 1e9) : NAN;
}

double subject_value(const struct dataset *d, const struct subject *s, size_t feature, uint32_t tick)
{
	return subject_mean(d, s, feature, tick, tick);
}

int dataset_find_wall(const struct dataset *d, int64_t wall)
{
	int found = -1;

	for (size_t i = 0; i < d->ticks.n; i++)
		if (d->ticks.v[i].wall <= wall)
			found = (int)i;
	return found;
}
