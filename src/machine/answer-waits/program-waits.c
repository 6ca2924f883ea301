#include "machine/answer-waits/program-waits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/stat/robust.h"

#define NEAR_ENOUGH (30 * NS_PER_SEC) /* the recording must reach this close to the moment asked about */
#define BASELINE_LEAST 5   /* ticks: fewer say nothing of what is normal */
#define EPISODE_TICKS  5    /* a wait may end in one tick and fill the next ones */
#define UNUSUAL_TIMES  2    /* the p90 ... */
#define UNUSUAL_LEAST  5e7  /* ... and so many ns per second above it */
#define REST_LEAST     1.5e8 /* ... or of what is left of its time, and so many ns per second */
#define NEW_TIMES      10   /* ... or it hardly waited for that ... */
#define NEW_LEAST      2e7  /* ... and now does for so many ns per second */
#define WORK_TIMES     1.5  /* the p90 of work, which makes a program that much slower by itself ... */
#define SHARE_LEAST    3e7  /* ... and so many ns per second above it: short waits for a CPU count, too */
#define FAULTS_LEAST   20
#define INIT	       1 /* of whom all are descendants */

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

/* Why it is slow although it waits for nothing: the work is its own, or that of processes for which it waits. */
static const struct {
	size_t feature;
	bool descendants;
	const char *words;
} work[] = {
	{FEATURE_CPU_TIME, false, "computes"},
	{FEATURE_FAULTS_MAJOR, false, "reads pages of its memory from disks"},
	{FEATURE_CPU_TIME, true, "has children that compute"},
	{FEATURE_CPU_RUN_DELAY, true, "has children that wait for a CPU"},
	{FEATURE_WAIT_QUOTA, true, "has children that wait for their CPU quota"},
	{FEATURE_WAIT_LOCK, true, "has children that wait for locks"},
	{FEATURE_WAIT_DISK, true, "has children that wait for disks"},
	{FEATURE_WAIT_MEMORY, true, "has children that wait for memory"},
	{FEATURE_WAIT_NETWORK, true, "has children that wait for network sockets"},
};

/* A program's processes, and those that they have started. */
struct family {
	VEC(const struct subject *) own, descendants;
};

static void family_free(struct family *f)
{
	VEC_FREE(f->own);
	VEC_FREE(f->descendants);
}

/* Who is read: `pids` are of those that are meant, and of their descendants as far as they were seen after their parents. */
struct readers {
	const char *who;
	VEC(uint32_t) pids;
};

static bool has_pid(const struct readers *w, uint32_t pid)
{
	for (size_t i = 0; i < w->pids.n; i++)
		if (w->pids.v[i] == pid)
			return true;
	return false;
}

static feature_set wanted(const struct entity_info *info, void *readers)
{
	struct readers *w = readers;
	feature_set mask = 0;

	if (info->kind != ENTITY_PROCESS || !(entity_matches(info, w->who) || (info->parent > INIT && has_pid(w, info->parent))))
		return 0;
	if (!has_pid(w, info->pid) && VEC_PUSH(w->pids, info->pid) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		mask |= FEATURE_BIT(kinds[i].feature);
	for (size_t i = 0; i < ARRAY_SIZE(work); i++)
		mask |= FEATURE_BIT(work[i].feature);
	return mask;
}

static bool descends(const struct family *f, const struct subject *s)
{
	for (size_t i = 0; i < f->own.n; i++)
		if (f->own.v[i]->info.pid == s->info.parent)
			return true;
	for (size_t i = 0; i < f->descendants.n; i++)
		if (f->descendants.v[i]->info.pid == s->info.parent)
			return true;
	return false;
}

/* Subjects are in the order in which they were first seen: parents mostly stand before their children. */
static int find_family(const struct dataset *d, const char *who, struct family *ret)
{
	for (size_t i = 0; i < d->subjects.n; i++)
		if (d->subjects.v[i]->info.kind == ENTITY_PROCESS && entity_matches(&d->subjects.v[i]->info, who) &&
		    VEC_PUSH(ret->own, d->subjects.v[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->info.kind == ENTITY_PROCESS && s->info.parent > INIT && !entity_matches(&s->info, who) && descends(ret, s) &&
		    VEC_PUSH(ret->descendants, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

static double sum_at(const struct dataset *d, const struct subject *const *members, size_t n, size_t feature, uint32_t tick)
{
	double sum = NAN;

	for (size_t i = 0; i < n; i++) {
		const struct subject *s = members[i];
		double value = NAN;

		if (subject_has(s, feature) && s->first <= tick && s->last >= tick)
			value = subject_value(d, s, feature, tick);
		if (!isnan(value))
			sum = (isnan(sum) ? 0 : sum) + value;
	}
	return sum;
}

static const struct feature *process_feature(size_t feature)
{
	size_t n;

	return &features_of(ENTITY_PROCESS, &n)[feature];
}

static struct program_wait wait_of(size_t feature, const char *words)
{
	return (struct program_wait){.feature = process_feature(feature), .words = words, .now = NAN, .p50 = NAN, .p90 = NAN};
}

/* How long it waits for each second in which it does not, one of its n processes with the others. */
static double per_rest(double waited, size_t n)
{
	double all = (double)n * NS_PER_SEC;

	return waited < all ? waited / (all - waited) : INFINITY;
}

/* A client that asks again after each answer waits for most of the time already: twice of that cannot be, but half of the rest. */
static bool is_beyond_baseline(const struct program_wait *w, size_t n)
{
	bool rest_shrinks = w->now > w->p90 + REST_LEAST && per_rest(w->now, n) > UNUSUAL_TIMES * per_rest(w->p90, n); /* false of NAN */

	bool is_new = w->now > NEW_TIMES * w->p90 + NEW_LEAST; /* its requests are rare: a long wait is a small part of all time */

	return rest_shrinks || is_new || w->now > UNUSUAL_TIMES * w->p90 + (w->feature == process_feature(FEATURE_CPU_RUN_DELAY) ? SHARE_LEAST : UNUSUAL_LEAST);
}

static bool is_more_work(const struct program_wait *w)
{
	return w->now > WORK_TIMES * w->p90 + (w->feature->unit == NS ? SHARE_LEAST : FAULTS_LEAST);
}

/* The values before those of the last seconds, in order of time: how many of them came before the episode that continues, in which they were half
 * of `now` and more on average. All of them, where too few are left: it has always been so. */
static size_t before_episode(const double *values, size_t n, double now)
{
	size_t before = n;

	while (before >= EPISODE_TICKS) {
		double sum = 0;

		for (size_t i = before - EPISODE_TICKS; i < before; i++)
			sum += values[i];
		if (sum < now * EPISODE_TICKS / 2)
			break;
		before--;
	}
	while (before && values[before - 1] >= now / 2) /* its first ticks */
		before--;
	return before >= BASELINE_LEAST ? before : n;
}

struct past {
	const struct dataset *d;
	uint32_t at; /* the tick asked about */
	bool same_hour; /* it is compared with that of the days before */
	double *values; /* room for as many as there are ticks */
};

/* `gaps`: where none of the members was there, they did nothing. */
static void measure(const struct past *past, const struct subject *const *members, size_t n_members, bool gaps, struct program_wait *w)
{
	const struct dataset *d = past->d;
	const uint32_t at = past->at;
	double *values = past->values;
	size_t n = 0, recent = 0, feature = (size_t)(w->feature - process_feature(0));
	int64_t since = d->ticks.v[at].wall - PROGRAM_NOW;

	for (uint32_t t = 0; t <= at; t++) {
		double value = sum_at(d, members, n_members, feature, t);

		if (isnan(value) && !gaps)
			continue;
		if (isnan(value))
			value = 0;
		if (d->ticks.v[t].wall > since)
			w->now = (isnan(w->now) ? 0 : w->now) + value, recent++;
		else if (!past->same_hour || store_is_same_hour_before(d->ticks.v[t].wall, d->ticks.v[at].wall))
			values[n++] = value;
	}
	if (recent)
		w->now /= (double)recent;
	n = before_episode(values, n, w->now);
	if (n >= BASELINE_LEAST) {
		(void)robust_sort(values, n);
		w->p50 = robust_quantile(values, n, 0.5);
		w->p90 = robust_quantile(values, n, 0.9);
	}
}

/* Those that are there at the end come into pids; the name is of any. */
static int find_program(const struct dataset *d, const char *who, uint32_t at, struct program_waits *ret)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->info.kind != ENTITY_PROCESS || s->first > at || !entity_matches(&s->info, who))
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

static int measure_all(const struct past *past, const struct family *f, struct program_waits *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct program_wait w = wait_of(kinds[i].feature, kinds[i].words);

		measure(past, f->own.v, f->own.n, false, &w);
		w.unusual = is_beyond_baseline(&w, ret->pids.n);
		if (!isnan(w.now) && VEC_PUSH(ret->waits, w) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < ARRAY_SIZE(work); i++) {
		struct program_wait w = wait_of(work[i].feature, work[i].words);

		if (work[i].descendants)
			measure(past, f->descendants.v, f->descendants.n, true, &w);
		else
			measure(past, f->own.v, f->own.n, false, &w);
		w.unusual = is_more_work(&w);
		if (w.unusual && VEC_PUSH(ret->work, w) < 0)
			return -ENOMEM;
	}
	return 0;
}

int program_waits_of(const struct dataset *d, const char *who, int64_t at, bool same_hour, struct program_waits *ret)
{
	_cleanup_free_ double *values = calloc(d->ticks.n + 1, sizeof(*values));
	_cleanup_(family_free) struct family f = {};
	int tick = dataset_find_wall(d, at), r;

	if (!values)
		return -ENOMEM;
	if (tick < 0 || at - d->ticks.v[tick].wall > NEAR_ENOUGH)
		return -ENODATA;
	r = find_program(d, who, (uint32_t)tick, ret);
	r = r ?: find_family(d, who, &f);
	return r ?: measure_all(&(struct past){d, (uint32_t)tick, same_hour, values}, &f, ret);
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
		struct program_wait *w = wait_found(p, i), new = wait_of(kinds[i].feature, kinds[i].words);

		new.now = 0;
		for (size_t k = 0; k < ARRAY_SIZE(kinds[i].by_events); k++)
			if (kinds[i].by_events[k] != FOR_NONE)
				new.now += (double)wait_report_waited(r, kinds[i].by_events[k]) * NS_PER_SEC / (double)(r->to - r->from);
		if (!w && new.now > 0 && VEC_PUSH(p->waits, new) < 0)
			return -ENOMEM;
		if (w && new.now > w->now) {
			w->now = new.now;
			w->unusual = is_beyond_baseline(w, p->pids.n);
		}
	}
	return 0;
}

int program_waits_read(struct store *store, const char *who, int64_t from, int64_t at, bool same_hour, const struct viewer *viewer, struct program_waits *ret)
{
	struct readers readers = {.who = who};
	struct load_filter filter = {wanted, &readers, NULL};
	struct dataset d = {};
	struct extract *part = NULL;
	unsigned damaged;
	int r = same_hour ? store_extract_same_hour(store, from, at, &part) : store_extract(store, from, at, &part);

	r = r ?: extract_load(part, &filter, &d, &damaged);
	r = r ?: dataset_hide(&d, viewer);
	r = r ?: program_waits_of(&d, who, at, same_hour, ret);
	extract_close(part);
	dataset_free(&d);
	VEC_FREE(readers.pids);
	return r;
}

