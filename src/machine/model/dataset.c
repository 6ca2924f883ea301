#include "machine/model/dataset.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/data/cleanup.h"
#include "lib/data/vec.h"

#define BLOCK_ALIGN ((size_t)2 << 20) /* a huge page: far fewer faults while it is filled */
#define ENTRY_MEMORY (sizeof(int64_t) + sizeof(uint32_t)) /* of a series */
#define SUBJECT_MEMORY (sizeof(struct subject) + 4 * sizeof(struct hmap_slot)) /* without its series and texts */

static void series_free(struct series *s)
{
	if (s->lent)
		return;
	FREE_ALL(s->tick, s->value);
}

static void subject_free(struct subject *s)
{
	for (size_t i = 0; i < s->n_features; i++)
		series_free(&s->series[i]);
	FREE_ALL(s->series, s->program);
	entity_info_free(&s->info);
	free(s);
}

void dataset_free(struct dataset *d)
{
	VEC_FREE_EACH(d->subjects, subject_free(*each));
	VEC_FREE(d->ticks);
	VEC_FREE_EACH(d->notes, free(each->text));
	VEC_FREE(d->segments);
	VEC_FREE_EACH(d->blocks, free(*each));
	hmap_free(&d->by_id);
	hmap_free(&d->by_identity);
}

/* Of a map of subjects those that the viewer may know of. 0 or -ENOMEM: then it is as it was. */
static int keep_visible(struct hmap *subjects, const struct viewer *v)
{
	struct hmap kept = {};

	HMAP_FOREACH(slot, subjects) {
		const struct subject *s = slot->value;

		if (entity_is_visible(&s->info, v) && hmap_put(&kept, slot->key, slot->key2, slot->value) < 0) {
			hmap_free(&kept);
			return -ENOMEM;
		}
	}
	hmap_free(subjects);
	*subjects = kept;
	return 0;
}

int dataset_hide(struct dataset *d, const struct viewer *v)
{
	size_t kept = 0;

	if (viewer_sees_all(v))
		return 0;
	if (v->hides_others && (keep_visible(&d->by_id, v) < 0 || keep_visible(&d->by_identity, v) < 0))
		return -ENOMEM;
	for (size_t i = 0; i < d->subjects.n; i++) {
		struct subject *s = d->subjects.v[i];

		if (entity_is_visible(&s->info, v)) {
			entity_hide(&s->info, v);
			d->subjects.v[kept++] = s;
		} else {
			subject_free(s);
		}
	}
	d->subjects.n = kept;
	return 0;
}

int dataset_add_tick(struct dataset *d, int64_t boot, int64_t wall, int64_t span)
{
	int64_t elapsed = d->ticks.n ? d->ticks.v[d->ticks.n - 1].elapsed : 0;

	if (memory_budget_take(d->budget, 2, sizeof(struct moment)) < 0 || VEC_PUSH(d->ticks, (struct moment){boot, wall, span, elapsed + span}) < 0)
		return -ENOMEM;
	return (int)d->ticks.n - 1;
}

int dataset_begin_segment(struct dataset *d)
{
	return memory_budget_take(d->budget, 1, sizeof(uint32_t)) < 0 ? -ENOMEM : VEC_PUSH(d->segments, (uint32_t)d->ticks.n);
}

struct subject *dataset_subject(const struct dataset *d, uint32_t id)
{
	return hmap_get(&d->by_id, id, 0);
}

const struct subject *dataset_process(const struct dataset *d, unsigned pid)
{
	const struct subject *found = NULL;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->info.kind == ENTITY_PROCESS && s->info.pid == pid && (!found || s->info.start > found->info.start))
			found = s;
	}
	return found;
}

static struct subject *add_subject(struct dataset *d, const struct entity_info *info)
{
	size_t n;
	const struct feature *features = features_of(info->kind, &n);
	struct subject *s = memory_budget_take(d->budget, 1, SUBJECT_MEMORY + n * sizeof(*s->series)) < 0 ? NULL : calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->features = features;
	s->n_features = n;
	s->series = calloc(n, sizeof(*s->series));
	if (!s->series || VEC_GROW(d->subjects) < 0 || hmap_put(&d->by_id, info->id, 0, s) < 0) {
		FREE_ALL(s->series, s);
		return NULL;
	}
	d->subjects.v[d->subjects.n++] = s;
	s->wanted = FEATURES_ALL;
	s->first = s->last = d->ticks.n ? (uint32_t)d->ticks.n - 1 : 0;
	if (info->kind == ENTITY_PROCESS && info->start)
		(void)hmap_put(&d->by_identity, info->pid, info->start, s);
	return s;
}

/* The process of an earlier recorder. */
static struct subject *meet_again(struct dataset *d, const struct entity_info *info)
{
	struct subject *s = info->kind == ENTITY_PROCESS ? hmap_get(&d->by_identity, info->pid, info->start) : NULL;

	if (!s || hmap_put(&d->by_id, info->id, 0, s) < 0)
		return NULL;
	s->ended = false;
	return s;
}

struct subject *dataset_define(struct dataset *d, const struct entity_info *info)
{
	struct subject *s = dataset_subject(d, info->id);
	struct entity_info copy;
	char *program;

	if (!s)
		s = meet_again(d, info);
	if (!s)
		s = add_subject(d, info);
	if (!s || s->n_features == 0)
		return s;
	s->segment = d->segments.n ? (uint32_t)d->segments.n - 1 : 0;
	s->definition = 0;
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

/* Where a segment's ticks end: the index behind its last one. */
static uint32_t segment_end(const struct dataset *d, uint32_t segment)
{
	return segment + 1 < d->segments.n ? d->segments.v[segment + 1] : (uint32_t)d->ticks.n;
}

void dataset_finish(struct dataset *d)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		struct subject *s = d->subjects.v[i];
		uint32_t end = segment_end(d, s->segment);

		if (s->ended)
			continue;
		if (end > s->first) {
			s->last = end - 1;
		} else { /* its segment lies before the window */
			s->first = end + 1;
			s->last = end;
		}
	}
}

static int series_grow(struct series *s, size_t want)
{
	uint32_t *ticks = s->lent ? malloc(want * sizeof(*ticks)) : reallocarray(s->tick, want, sizeof(*ticks));
	int64_t *values;

	if (!ticks)
		return -ENOMEM;
	if (!s->lent)
		s->tick = ticks;
	values = s->lent ? malloc(want * sizeof(*values)) : reallocarray(s->value, want, sizeof(*values));
	if (!values) {
		if (s->lent)
			free(ticks);
		return -ENOMEM;
	}
	if (s->lent) {
		memcpy(ticks, s->tick, s->n * sizeof(*ticks));
		memcpy(values, s->value, s->n * sizeof(*values));
	}
	s->tick = ticks;
	s->value = values;
	s->allocated = want;
	s->lent = false;
	return 0;
}

int series_push(struct series *s, uint32_t tick, int64_t value)
{
	if (s->n == s->allocated && series_grow(s, s->allocated ? 2 * s->allocated : 4) < 0)
		return -ENOMEM;
	s->tick[s->n] = tick;
	s->value[s->n] = value;
	s->n++;
	return 0;
}

int dataset_push(struct dataset *d, struct series *s, uint32_t tick, int64_t value)
{
	return memory_budget_take(d->budget, 1, 2 * ENTRY_MEMORY) < 0 ? -ENOMEM : series_push(s, tick, value);
}

int dataset_add_note(struct dataset *d, struct note note)
{
	if (memory_budget_take(d->budget, 1, sizeof(note) + strlen(note.text)) == 0 && VEC_PUSH(d->notes, note) == 0)
		return 0;
	free(note.text);
	return -ENOMEM;
}

void series_remove(struct series *s, size_t at, size_t n)
{
	memmove(s->tick + at, s->tick + at + n, (s->n - at - n) * sizeof(*s->tick));
	memmove(s->value + at, s->value + at + n, (s->n - at - n) * sizeof(*s->value));
	s->n -= n;
}

/* Moves a series into the block; the old entries with it. */
static void lend(struct series *s, int64_t **values, uint32_t **ticks)
{
	struct series old = *s;

	s->tick = *ticks;
	s->value = *values;
	if (old.n) {
		memcpy(s->tick, old.tick, old.n * sizeof(*s->tick));
		memcpy(s->value, old.value, old.n * sizeof(*s->value));
	}
	series_free(&old);
	s->n = s->allocated = old.n + old.reserved;
	s->reserved = 0;
	s->lent = true;
	*values += s->n;
	*ticks += s->n;
}

static size_t room_wanted(const struct dataset *d)
{
	size_t want = 0;

	for (size_t i = 0; i < d->subjects.n; i++)
		for (size_t f = 0; f < d->subjects.v[i]->n_features; f++)
			if (d->subjects.v[i]->series[f].reserved)
				want += d->subjects.v[i]->series[f].n + d->subjects.v[i]->series[f].reserved;
	return want;
}

int dataset_allocate(struct dataset *d)
{
	size_t want = room_wanted(d), bytes = want * ENTRY_MEMORY;
	int64_t *values;
	uint32_t *ticks;
	void *block;

	if (!want)
		return 0;
	if (memory_budget_take(d->budget, want, ENTRY_MEMORY) < 0)
		return -ENOMEM;
	block = aligned_alloc(BLOCK_ALIGN, (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN);
	if (!block)
		return -ENOMEM;
	if (VEC_PUSH_OWNER(d->blocks, block, block) < 0)
		return -ENOMEM;
	madvise(block, bytes, MADV_HUGEPAGE);
	values = block;
	ticks = (uint32_t *)(values + want);
	for (size_t i = 0; i < d->subjects.n; i++)
		for (size_t f = 0; f < d->subjects.v[i]->n_features; f++)
			if (d->subjects.v[i]->series[f].reserved)
				lend(&d->subjects.v[i]->series[f], &values, &ticks);
	return 0;
}

/* Ticks of a part that lie in the window: their index in the whole, or -1 before and -2 behind. */
static int append_ticks(struct dataset *d, const struct dataset *part, int64_t from, int64_t to, int64_t *index)
{
	if (dataset_begin_segment(d) < 0)
		return -ENOMEM;
	for (size_t t = 0; t < part->ticks.n; t++) {
		const struct moment *m = &part->ticks.v[t];

		index[t] = m->wall < from ? -1 : -2;
		if (m->wall < from || m->wall > to)
			continue;
		index[t] = dataset_add_tick(d, m->boot, m->wall, m->span);
		if (index[t] < 0)
			return -ENOMEM;
	}
	return 0;
}

static int append_series(struct dataset *d, struct series *to, const struct series *from, bool gauge, uint32_t begin, const int64_t *index)
{
	int64_t level = -1;

	for (size_t i = 0; i < from->n; i++) {
		int64_t at = index[from->tick[i]];

		if (at == -1 && gauge)
			level = (int64_t)i;
		if (at < 0)
			continue;
		if (level >= 0 && at > begin && dataset_push(d, to, begin, from->value[level]) < 0)
			return -ENOMEM;
		level = -1;
		if (dataset_push(d, to, (uint32_t)at, from->value[i]) < 0)
			return -ENOMEM;
	}
	return level >= 0 ? dataset_push(d, to, begin, from->value[level]) : 0;
}

static int append_subject(struct dataset *d, const struct subject *from, uint32_t begin, const int64_t *index)
{
	const struct subject *known = dataset_subject(d, from->info.id);
	size_t subjects = d->subjects.n;
	struct subject *s;

	if (known && known->info.kind != from->info.kind)
		return -EBADMSG; /* nothing becomes another kind of thing */
	s = dataset_define(d, &from->info);
	if (!s)
		return -ENOMEM;
	if (d->subjects.n > subjects)
		s->first = index[from->first] >= 0 ? (uint32_t)index[from->first] : begin;
	if (from->ended && index[from->last] >= 0) {
		s->ended = true;
		s->last = (uint32_t)index[from->last];
	}
	for (size_t f = 0; f < from->n_features; f++)
		if (append_series(d, &s->series[f], &from->series[f], from->features[f].kind != COUNTER, begin, index) < 0)
			return -ENOMEM;
	return 0;
}

static int append_notes(struct dataset *d, const struct dataset *part, int64_t from, int64_t to)
{
	for (size_t i = 0; i < part->notes.n; i++) {
		struct note note = part->notes.v[i];

		if (note.wall < from || note.wall > to)
			continue;
		note.text = strdup(note.text);
		if (!note.text || dataset_add_note(d, note) < 0)
			return -ENOMEM;
	}
	return 0;
}

int dataset_append(struct dataset *d, const struct dataset *part, int64_t from, int64_t to)
{
	uint32_t begin = (uint32_t)d->ticks.n;
	_cleanup_free_ int64_t *index = calloc(part->ticks.n + 1, sizeof(*index));
	int r = index ? append_ticks(d, part, from, to, index) : -ENOMEM;

	for (size_t i = 0; r == 0 && d->ticks.n > begin && i < part->subjects.n; i++) {
		const struct subject *s = part->subjects.v[i];

		/* gone before the window, or not yet there at its end */
		if ((s->ended && index[s->last] == -1) || index[s->first] == -2)
			continue;
		r = append_subject(d, s, begin, index);
	}
	return r ?: append_notes(d, part, from, to);
}

/* How many entries lie at or before a tick. */
static size_t entries_until(const struct series *s, uint32_t tick)
{
	return FIRST_WHERE(i, s->n, s->tick[i] > tick);
}

static int64_t elapsed_before(const struct dataset *d, uint32_t tick)
{
	return tick ? d->ticks.v[tick - 1].elapsed : 0;
}

struct growth_time subject_growth_time(const struct dataset *d, const struct subject *s, size_t feature, size_t i)
{
	const struct series *series = &s->series[feature];
	uint32_t tick = series->tick[i];
	struct growth_time t = {elapsed_before(d, tick), d->ticks.v[tick].elapsed};
	int64_t grown, read_before;

	if (!feature_is_read_late(s->features, feature) ||
	    __builtin_mul_overflow(series->value[i], s->features[feature].quantum, &grown) || grown <= t.end - t.begin)
		return t;
	read_before = i ? d->ticks.v[series->tick[i - 1]].elapsed : s->first ? d->ticks.v[s->first - 1].elapsed : INT64_MIN;
	t.begin = t.end - grown > read_before ? t.end - grown : read_before;
	return t;
}

double subject_growth_within(const struct dataset *d, const struct subject *s, size_t feature, size_t i, int64_t begin, int64_t end)
{
	struct growth_time t = subject_growth_time(d, s, feature, i);
	int64_t first = t.begin > begin ? t.begin : begin, last = t.end < end ? t.end : end;

	if (t.begin >= begin && t.end <= end)
		return (double)s->series[feature].value[i];
	return first < last ? (double)s->series[feature].value[i] * (double)(last - first) / (double)(t.end - t.begin) : 0;
}

static double growth_read_late(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to)
{
	const struct series *series = &s->series[feature];
	int64_t begin = elapsed_before(d, from), end = d->ticks.v[to].elapsed;
	double sum = 0;

	for (size_t i = from ? entries_until(series, from - 1) : 0; i < series->n; i++) {
		sum += subject_growth_within(d, s, feature, i, begin, end);
		if (series->tick[i] > to)
			break; /* what is read later has grown after this entry */
	}
	return sum * (double)s->features[feature].quantum;
}

double subject_growth(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to)
{
	const struct series *series = &s->series[feature];
	size_t begin = from ? entries_until(series, from - 1) : 0;
	int64_t sum = 0;

	if (feature_is_read_late(s->features, feature) && d->ticks.n && from < d->ticks.n)
		return growth_read_late(d, s, feature, from, to < d->ticks.n ? to : (uint32_t)d->ticks.n - 1);
	for (size_t i = begin; i < series->n && series->tick[i] <= to; i++)
		sum += series->value[i];
	return (double)sum * (double)s->features[feature].quantum;
}

uint32_t subject_known_until(const struct subject *s, size_t feature)
{
	uint32_t until = s->first;

	if (!feature_is_read_late(s->features, feature))
		return s->last;
	for (size_t f = 0; f < s->n_features; f++)
		if (s->features[f].kind == COUNTER && s->series[f].n && s->series[f].tick[s->series[f].n - 1] > until)
			until = s->series[f].tick[s->series[f].n - 1];
	return until;
}

static int64_t span_of(const struct dataset *d, uint32_t from, uint32_t to)
{
	if (to >= d->ticks.n)
		to = (uint32_t)d->ticks.n - 1;
	return d->ticks.v[to].elapsed - (from ? d->ticks.v[from - 1].elapsed : 0);
}

/* Every tick weighs its span,. */
static double gauge_mean(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to)
{
	const struct series *series = &s->series[feature];
	size_t next = entries_until(series, from);
	double sum = 0, weight = 0, last = NAN;

	if (to >= d->ticks.n)
		to = (uint32_t)d->ticks.n - 1;
	for (size_t i = next ? next - 1 : 0; i < series->n && series->tick[i] <= to; i++) {
		uint32_t begin = series->tick[i] > from ? series->tick[i] : from;
		uint32_t end = i + 1 < series->n && series->tick[i + 1] <= to ? series->tick[i + 1] - 1 : to;
		double span = end >= begin ? (double)span_of(d, begin, end) : 0;

		last = (double)series->value[i];
		sum += span * last;
		weight += span;
	}
	return (weight > 0 ? sum / weight : last) * (double)s->features[feature].quantum;
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

double subject_during(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to)
{
	uint32_t first = s->first > from ? s->first : from, last = s->last < to ? s->last : to;

	if (first > last || !subject_has(s, feature))
		return NAN;
	if (s->features[feature].kind == COUNTER)
		return subject_growth(d, s, feature, first, last) / fmax((double)span_of(d, from, to) / 1e9, 0.1);
	if (s->info.kind == ENTITY_SYSTEM || s->features[feature].kind == SAMPLED_GAUGE)
		return subject_mean(d, s, feature, first, last);
	return s->last >= to ? subject_value(d, s, feature, to) : NAN;
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
