#include "machine/answer-history/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "machine/judge/anomaly.h"
#include "machine/model/dataset.h"

#define PIECE	       60 /* minutes that are read at a time */
#define RECORDED_LEAST 30 /* s of a minute, for it to count */

/* The scored features, and the least value of each that is noticeable, in the feature's unit per second. */
struct measure {
	int feature;
	float floor;
};

static const struct measure machine_measures[] = {
	{FEATURE_PSI_CPU_SOME, 0.05e9f}, {FEATURE_PSI_IO_SOME, 0.05e9f}, {FEATURE_PSI_MEMORY_SOME, 0.02e9f},
};
static const struct measure program_measures[] = {
	{FEATURE_CPU_TIME, 0.1e9f},	{FEATURE_CPU_RUN_DELAY, 0.1e9f}, {FEATURE_IO_READ_BYTES, 5e6f},
	{FEATURE_IO_WRITE_BYTES, 5e6f}, {FEATURE_DELAY_BLOCK, 0.1e9f},
};
#define MACHINE	 ARRAY_SIZE(machine_measures)
#define MEASURES ARRAY_SIZE(program_measures)

/* The machine, or a program: its series lie one after another. */
struct owner {
	size_t first; /* index of its first series */
	float (*piece)[PIECE]; /* of each measure: growth in the hour that is read; NULL = none */
};

struct reading {
	struct history *h;
	struct hmap by_program; /* (hash, 0) -> index + 1 */
	VEC(struct owner) owners; /* 0 = the machine */
	const char *who;
	const struct viewer *viewer;
	float seconds[PIECE]; /* recorded, of each minute in hand */
	int64_t piece_from;
};

static feature_set mask_of(const struct measure *m, size_t n)
{
	feature_set mask = 0;

	for (size_t i = 0; i < n; i++)
		mask |= FEATURE_BIT(m[i].feature);
	return mask;
}

static bool is_wanted(const struct reading *r, const struct entity_info *info)
{
	if (info->kind == ENTITY_SYSTEM)
		return !r->who;
	return (info->kind == ENTITY_PROCESS || info->kind == ENTITY_KERNEL) && (!r->who || entity_matches(info, r->who)) &&
	       entity_is_visible(info, r->viewer);
}

static feature_set wanted_features(const struct entity_info *info, void *data)
{
	if (!is_wanted(data, info))
		return 0;
	return info->kind == ENTITY_SYSTEM ? mask_of(machine_measures, MACHINE) : mask_of(program_measures, MEASURES);
}

/* --- owners --- */

static int add_owner(struct reading *r, enum entity_kind kind, const struct measure *measures, size_t n, const char *label)
{
	const struct owner owner = {.first = r->h->series.n};
	size_t n_features;
	const struct feature *features = features_of(kind, &n_features);

	for (size_t i = 0; i < n; i++) {
		struct history_series s = {.feature = &features[measures[i].feature], .minutes.floor = measures[i].floor};

		s.label = label ? strdup(label) : NULL;
		if ((label && !s.label) || VEC_PUSH(r->h->series, s) < 0) {
			free(s.label);
			return -ENOMEM;
		}
	}
	return VEC_PUSH(r->owners, owner);
}

/* 0 with *ret NULL: there are HISTORY_PROGRAMS_MAX already. */
static int find_owner(struct reading *r, const struct subject *s, struct owner **ret)
{
	const uint64_t key = s->info.kind == ENTITY_SYSTEM ? 0 : hmap_hash_text(s->program);
	size_t at = s->info.kind == ENTITY_SYSTEM ? 1 : (size_t)hmap_get(&r->by_program, key, 0);
	_cleanup_free_ char *label = NULL;
	int n;

	*ret = NULL;
	if (!at && r->owners.n > HISTORY_PROGRAMS_MAX) {
		r->h->programs_left_out++;
		return 0;
	}
	if (!at) {
		label = entity_label(&s->info);
		n = add_owner(r, ENTITY_PROCESS, program_measures, MEASURES, label ? label : s->info.name);
		if (n == 0)
			n = hmap_put(&r->by_program, key, 0, (void *)r->owners.n);
		if (n < 0)
			return n;
		r->h->programs_seen++;
		at = r->owners.n;
	}
	*ret = &r->owners.v[at - 1];
	return 0;
}

/* --- an hour --- */

/* The minute of a tick in the hour in hand; PIECE = it is in none. */
static size_t minute_of(const struct reading *r, const struct moment *m)
{
	const int64_t passed = m->wall - r->piece_from;

	return passed >= 0 && passed < PIECE * HISTORY_MINUTE ? (size_t)(passed / HISTORY_MINUTE) : PIECE;
}

static void measure_time(struct reading *r, const struct dataset *d)
{
	memset(r->seconds, 0, sizeof(r->seconds));
	for (size_t t = 0; t < d->ticks.n; t++) {
		const size_t minute = minute_of(r, &d->ticks.v[t]);

		if (minute < PIECE)
			r->seconds[minute] += fminf((float)d->ticks.v[t].span / NS_PER_SEC, 60);
	}
}

static void add_growths(const struct reading *r, const struct dataset *d, const struct subject *s, int feature, float *minutes)
{
	const struct series *v = &s->series[feature];

	for (size_t i = 0; i < v->n; i++) {
		const size_t minute = v->tick[i] < d->ticks.n ? minute_of(r, &d->ticks.v[v->tick[i]]) : PIECE;

		if (minute < PIECE && v->value[i] > 0)
			minutes[minute] += (float)v->value[i] * (float)s->features[feature].quantum;
	}
}

static int take_subject(struct reading *r, const struct dataset *d, const struct subject *s)
{
	const bool machine = s->info.kind == ENTITY_SYSTEM;
	const struct measure *measures = machine ? machine_measures : program_measures;
	const size_t n = machine ? MACHINE : MEASURES;
	struct owner *o;
	int result = find_owner(r, s, &o);

	if (result < 0 || !o)
		return result;
	if (!o->piece)
		o->piece = calloc(n, sizeof(*o->piece));
	if (!o->piece)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (subject_has(s, (size_t)measures[i].feature))
			add_growths(r, d, s, measures[i].feature, o->piece[i]);
	return 0;
}

static bool minute_counts(const struct reading *r, size_t minute)
{
	return r->seconds[minute] >= RECORDED_LEAST;
}

/* The hour's growths become rates. */
static int flush_owner(struct reading *r, struct owner *o, size_t n, uint32_t first)
{
	int result = 0;

	for (size_t k = 0; o->piece && k < n; k++)
		for (size_t i = 0; i < PIECE && first + i < r->h->n && result == 0; i++)
			if (o->piece[k][i] > 0 && minute_counts(r, i))
				result = VEC_PUSH(r->h->series.v[o->first + k].minutes.values,
						  (struct minute_value){first + (uint32_t)i, o->piece[k][i] / r->seconds[i]});
	free(o->piece);
	o->piece = NULL;
	return result;
}

static int take_piece(struct reading *r, const struct dataset *d, uint32_t first)
{
	int result = 0;

	measure_time(r, d);
	for (size_t i = 0; i < PIECE && first + i < r->h->n; i++)
		r->h->recorded[first + i] = minute_counts(r, i);
	for (size_t i = 0; i < d->subjects.n && result == 0; i++)
		if (is_wanted(r, &d->subjects.v[i]->info))
			result = take_subject(r, d, d->subjects.v[i]);
	for (size_t i = 0; i < r->owners.n && result == 0; i++)
		result = flush_owner(r, &r->owners.v[i], i ? MEASURES : MACHINE, first);
	return result;
}

static int read_piece(struct reading *r, struct store *store, uint32_t first)
{
	const feature_set most[ENTITY_KIND_END] = {[ENTITY_SYSTEM] = mask_of(machine_measures, MACHINE),
						[ENTITY_PROCESS] = mask_of(program_measures, MEASURES),
						[ENTITY_KERNEL] = mask_of(program_measures, MEASURES)};
	const struct load_filter filter = {wanted_features, r, most};
	_cleanup_(dataset_free) struct dataset d = {};
	unsigned damaged;
	int result;

	r->piece_from = r->h->from + first * HISTORY_MINUTE;
	result = store_load_filtered(store, r->piece_from, r->piece_from + PIECE * HISTORY_MINUTE, &filter, &d, &damaged);
	result = result ?: dataset_hide(&d, r->viewer);
	return result ?: take_piece(r, &d, first);
}

/* --- all of it --- */

static int judge(struct history *h)
{
	int r = 0;

	for (size_t i = 0; i < h->series.n && r == 0; i++)
		r = anomaly_judge(&h->series.v[i].minutes, (uint32_t)i, h->recorded, h->n, h->series.v[i].label ? h->programs : h->machine);
	r = r ?: anomaly_find_episodes(h->machine, h->programs, h->n, &h->episodes);
	for (uint32_t i = 0; i < h->n; i++) {
		h->n_recorded += h->recorded[i];
		h->n_odd += h->machine[i].score >= ANOMALY_ODD || h->programs[i].score >= ANOMALY_ODD;
	}
	return r;
}

static int begin(struct history *h, int64_t from, int64_t to)
{
	h->from = from - from % HISTORY_MINUTE;
	if (to <= from || (to - h->from) / HISTORY_MINUTE > HISTORY_MINUTES_MAX)
		return -EINVAL;
	h->n = (uint32_t)((to - h->from + HISTORY_MINUTE - 1) / HISTORY_MINUTE);
	h->recorded = calloc(h->n, sizeof(*h->recorded));
	h->machine = calloc(h->n, sizeof(*h->machine));
	h->programs = calloc(h->n, sizeof(*h->programs));
	if (!h->recorded || !h->machine || !h->programs)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->n; i++)
		h->machine[i].series = h->programs[i].series = HISTORY_NONE;
	return 0;
}

/* Those that overlap the interval: a long one may have begun before it. */
static int add_incidents(struct history *h, struct store *store, int64_t to)
{
	struct mark *marks;
	size_t n;
	int r = store_marks(store, INT64_MIN, to, &marks, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == 0; i++) {
		const int64_t end = marks[i].goes_on ? to : marks[i].last;

		if (end < h->from)
			continue;
		r = VEC_PUSH(h->incidents, (struct history_incident){marks[i].id, marks[i].wall, end, mark_is_of_rule(&marks[i]), marks[i].note});
		marks[i].note = r == 0 ? NULL : marks[i].note; /* it is the incident's now */
	}
	marks_free(marks, n);
	return r;
}

int history_read(struct store *store, int64_t from, int64_t to, const char *who, const struct viewer *viewer, struct history *ret)
{
	struct history h = {};
	struct reading r = {.h = &h, .who = who, .viewer = viewer};
	int result = begin(&h, from, to);

	result = result ?: add_owner(&r, ENTITY_SYSTEM, machine_measures, MACHINE, NULL);
	for (uint32_t first = 0; first < h.n && result == 0; first += PIECE)
		result = read_piece(&r, store, first);
	result = result ?: judge(&h);
	if (result == 0 && !h.n_recorded)
		result = -ENODATA;
	if (!who)
		result = result ?: add_incidents(&h, store, to);
	VEC_FREE_EACH(r.owners, free(each->piece));
	hmap_free(&r.by_program);
	if (result < 0)
		history_free(&h);
	else
		*ret = h;
	return result;
}
