#include "machine/answer-waits/program-waits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/stat/robust.h"

#define NEAR_ENOUGH (30 * NS_PER_SEC) /* the recording must reach this close to the moment asked about */
#define BASELINE_LEAST 10   /* ticks: fewer say nothing of what is normal */
#define UNUSUAL_TIMES  2    /* the p90 ... */
#define UNUSUAL_LEAST  5e7  /* ... and so many ns per second above it */

/* Events count for contended kinds only: who waits for its peer may be idle. */
static const struct {
	size_t feature;
	const char *words;
	enum wait_for by_events[2];
} kinds[] = {
	{FEATURE_CPU_RUN_DELAY, "a CPU", {FOR_CPU}},
	{FEATURE_WAIT_QUOTA, "its CPU quota", {FOR_QUOTA}},
	{FEATURE_WAIT_LOCK, "locks", {FOR_LOCK}},
	{FEATURE_WAIT_CONDITION, "signals of other threads", {}},
	{FEATURE_WAIT_DISK, "disks", {FOR_DISK}},
	{FEATURE_WAIT_MEMORY, "memory", {FOR_MEMORY, FOR_FAULT}},
	{FEATURE_WAIT_NETWORK, "network sockets", {}},
	{FEATURE_WAIT_PEER, "pipes and local sockets", {}},
	{FEATURE_WAIT_OTHER, "what is not known", {}},
};

static feature_set wanted(const struct entity_info *info, void *who)
{
	feature_set mask = 0;

	if (info->kind != ENTITY_PROCESS || !entity_is_meant(info, who))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		mask |= FEATURE_BIT(kinds[i].feature);
	return mask;
}

static double sum_at(const struct dataset *d, const char *who, size_t feature, uint32_t tick)
{
	double sum = NAN;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		double value = NAN;

		if (s->info.kind == ENTITY_PROCESS && subject_has(s, feature) && s->first <= tick && s->last >= tick && entity_is_meant(&s->info, who))
			value = subject_value(d, s, feature, tick);
		if (!isnan(value))
			sum = (isnan(sum) ? 0 : sum) + value;
	}
	return sum;
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static struct program_wait wait_of_kind(size_t kind)
{
	size_t n;

	return (struct program_wait){.feature = &features_of(ENTITY_PROCESS, &n)[kinds[kind].feature], .words = kinds[kind].words,
				     .now = NAN, .p50 = NAN, .p90 = NAN};
}

static bool is_beyond_baseline(const struct program_wait *w)
{
	return w->now > UNUSUAL_TIMES * w->p90 + UNUSUAL_LEAST;
}

/* values: room for as many as there are ticks. */
static struct program_wait measure(const struct dataset *d, const char *who, size_t kind, uint32_t at, double *values)
{
	size_t n = 0, recent = 0;
	struct program_wait w = wait_of_kind(kind);
	int64_t since = d->ticks.v[at].wall - PROGRAM_NOW;

	for (uint32_t t = 0; t <= at; t++) {
		double value = sum_at(d, who, kinds[kind].feature, t);

		if (isnan(value))
			continue;
		if (d->ticks.v[t].wall <= since)
			values[n++] = value;
		else
			w.now = (isnan(w.now) ? 0 : w.now) + value, recent++;
	}
	if (recent)
		w.now /= (double)recent;
	if (n >= BASELINE_LEAST) {
		qsort(values, n, sizeof(*values), ascending);
		w.p50 = robust_quantile(values, n, 0.5);
		w.p90 = robust_quantile(values, n, 0.9);
	}
	w.unusual = is_beyond_baseline(&w);
	return w;
}

/* Those that are there at the end come into pids; the name is of any. */
static int find_program(const struct dataset *d, const char *who, uint32_t at, struct program_waits *ret)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->info.kind != ENTITY_PROCESS || s->first > at || !entity_is_meant(&s->info, who))
			continue;
		if (!ret->name) {
			ret->name = entity_label(&s->info);
			if (!ret->name)
				return -ENOMEM;
		}
		if (s->last >= at && VEC_PUSH(ret->pids, s->info.pid) < 0)
			return -ENOMEM;
	}
	return ret->name ? 0 : -ESRCH;
}

int program_waits_of(const struct dataset *d, const char *who, int64_t at, struct program_waits *ret)
{
	_cleanup_free_ double *values = calloc(d->ticks.n + 1, sizeof(*values));
	int tick = dataset_find_wall(d, at), r;

	if (!values)
		return -ENOMEM;
	if (tick < 0 || at - d->ticks.v[tick].wall > NEAR_ENOUGH)
		return -ENODATA;
	r = find_program(d, who, (uint32_t)tick, ret);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(kinds); i++) {
		struct program_wait w = measure(d, who, i, (uint32_t)tick, values);

		if (!isnan(w.now))
			r = VEC_PUSH(ret->waits, w);
	}
	return r;
}

static struct program_wait *wait_found(struct program_waits *p, size_t kind)
{
	for (size_t i = 0; i < p->waits.n; i++)
		if (p->waits.v[i].words == kinds[kind].words)
			return &p->waits.v[i];
	return NULL;
}

int program_waits_add_events(struct program_waits *p, const struct wait_report *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct program_wait *w = wait_found(p, i), new = wait_of_kind(i);

		new.now = 0;
		for (size_t k = 0; k < ARRAY_SIZE(kinds[i].by_events); k++)
			if (kinds[i].by_events[k] != FOR_NONE)
				new.now += (double)wait_report_waited(r, kinds[i].by_events[k]) * NS_PER_SEC / (double)(r->to - r->from);
		if (!w && new.now > 0 && VEC_PUSH(p->waits, new) < 0)
			return -ENOMEM;
		if (w && new.now > w->now) {
			w->now = new.now;
			w->unusual = is_beyond_baseline(w);
		}
	}
	return 0;
}

int program_waits_read(struct store *store, const char *who, int64_t from, int64_t at, const struct viewer *viewer, struct program_waits *ret)
{
	struct load_filter filter = {wanted, (void *)who, NULL};
	struct dataset d = {};
	unsigned damaged;
	int r = store_load_filtered(store, from, at, &filter, &d, &damaged);

	r = r ?: dataset_hide(&d, viewer);
	r = r ?: program_waits_of(&d, who, at, ret);
	dataset_free(&d);
	return r;
}

