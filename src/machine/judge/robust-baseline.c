/* What a program uses now, and what is usual for it: by blocks of its past, or by its earlier starts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/clock.h"
#include "lib/stat/robust.h"
#include "machine/judge/robust.h"

#define BLOCK_SECONDS	60 /* of a block where none was recorded */
#define ALWAYS		0.25 /* quantile: below it it hardly ever is */
#define SAME_AGAIN	0.7  /* an earlier block that goes so far beyond that is "the same again" */
#define USUAL_FRACTION	0.25 /* done in a quarter of the time: simply what it does */
#define OFTEN		0.9 /* quantile: what is reached a tenth of the time is usual, if not the median */
#define STARTS_MIN	2   /* fewer earlier starts are no habit */
#define SAME_START	0.5 /* an earlier start with this share of the value did the same */
#define IMPOSSIBLE	1.5 /* waits are added when they end: a second's may be longer than a second, but not by much */
#define UNKNOWN_THREADS 16  /* of processes that lived for less than a sample */

int robust_blocks_make(struct robust *r)
{
	if (blocks_cut_by_incident(&r->blocks, r->d, r->q) < 0)
		return -ENOMEM;
	r->sum = calloc(r->blocks.n + 1, sizeof(*r->sum));
	r->one = calloc(r->blocks.n + 1, sizeof(*r->one));
	r->sorted = calloc(r->blocks.n + 1, sizeof(*r->sorted));
	return r->sum && r->one && r->sorted ? 0 : -ENOMEM;
}

/* More than all threads can wait in a second: of tasks that were asleep when delay accounting was switched on (or whose
 * wait the kernel does not see begin) the kernel adds the time since the machine was started. */
static bool is_impossible(const struct robust *r, const struct subject *s, size_t f, double rate)
{
	double threads = subject_has(s, FEATURE_THREADS) ? subject_value(r->d, s, FEATURE_THREADS, s->last < r->q->at ? s->last : r->q->at) : NAN;

	if (s->features[f].resource != RESOURCE_DELAY || s->features[f].unit != NS)
		return false;
	return rate > IMPOSSIBLE * 1e9 * fmax(isnan(threads) ? UNKNOWN_THREADS : threads, 1);
}

double robust_member_now(const struct robust *r, const struct subject *s, size_t f)
{
	double now = subject_during(r->d, s, f, r->q->focus, r->q->at);

	return isnan(now) || is_impossible(r, s, f, now) ? 0 : now;
}

double robust_largest_member(const struct robust *r, const struct program *p, size_t f)
{
	double most = 0;

	for (size_t i = 0; i < p->members.n; i++)
		if (p->members.v[i]->info.kind == ENTITY_PROCESS)
			most = fmax(most, robust_member_now(r, p->members.v[i], f));
	return most;
}

/* Pages that processes share since they were forked count for each of them, but once for the machine: beyond its largest process a program
 * has at most what the machine has beyond the largest processes of all. */
static double without_shared(const struct robust *r, const struct program *p, size_t f, double all)
{
	double most = f == FEATURE_MEM_ANON && !isnan(r->shared_anonymous) ? robust_largest_member(r, p, f) : 0;

	return most > 0 ? fmin(all, most + fmax(r->shared_anonymous, 0)) : all;
}

double robust_program_now(const struct robust *r, const struct program *p, size_t f)
{
	double all = 0;
	bool any = false;

	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];
		double now = robust_member_now(r, s, f);

		any |= subject_has(s, f);
		all = feature_together(&s->features[f], all, now);
	}
	return any ? without_shared(r, p, f, all) : NAN;
}

/* Leaves the program's block values in r->sum; NaN where no member was there or nothing may be learnt. */
void robust_blocks_fill(struct robust *r, const struct program *p, size_t f)
{
	const struct feature *feature = &p->members.v[0]->features[f];

	for (uint32_t i = 0; i <= r->blocks.n; i++)
		r->sum[i] = 0;
	r->n_older = 0;
	if (r->q->older)
		r->older = r->q->older(r->q->context, p->members.v[0]->info.kind, p->key, f, &r->n_older);
	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];

		if (subject_has(s, f) && s->series[f].n)
			blocks_add_member(&r->blocks, s, f, r->one, r->sum);
	}
	blocks_finish(&r->blocks, feature, r->sum);
}

/* From here on an earlier block did the same: of what always uses a lot that is not a share of all it uses now. */
static double same_again(const struct robust_baseline *u, double value)
{
	double always = fmin(u->always, value);

	return always + SAME_AGAIN * (value - always);
}

static void count_episodes(const struct robust *r, double value, struct robust_baseline *u)
{
	double same = same_again(u, value);
	uint32_t high = 0, below = 3;

	for (uint32_t i = 0; i < r->blocks.n; i++) {
		if (isnan(r->sum[i]))
			continue;
		u->as_high += r->sum[i] >= value;
		if (r->sum[i] < same) {
			below++;
			continue;
		}
		high++;
		u->episodes += below >= 2; /* one low block inside does not make two of it */
		below = 0;
	}
	u->fraction = u->n ? (double)high / u->n : 0;
}

static double block_seconds(const struct blocks *b)
{
	double sum = 0;

	for (uint32_t i = 0; i < b->n; i++)
		sum += b->seconds[i];
	return sum > 0 ? sum / b->n : BLOCK_SECONDS;
}

/* Blocks and what is known of the time before them become one distribution. */
static int merge_older(const struct robust *r, const struct feature *feature, size_t n,
		       struct robust_baseline *u)
{
	double length = block_seconds(&r->blocks);
	struct weighted_value *all = calloc(n + r->n_older * STRETCH_POINTS, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		all[i] = (struct weighted_value){r->sorted[i], 1};
	for (size_t i = 0; i < r->n_older; i++, n += STRETCH_POINTS) {
		older_stretch_points(&r->older[i], feature->kind == COUNTER, length, all + n);
		u->highest = fmax(u->highest, older_stretch_highest(&r->older[i]));
	}
	qsort(all, n, sizeof(*all), robust_compare_weighted);
	u->median = robust_quantile_weighted(all, n, 0.5);
	u->always = robust_quantile_weighted(all, n, ALWAYS);
	u->spread = (robust_quantile_weighted(all, n, 0.75) - robust_quantile_weighted(all, n, 0.25)) / 1.349;
	u->only_value &= all[0].value == all[n - 1].value;
	free(all);
	return 0;
}

/* After count_episodes(): the same of the time before. */
static void count_older(const struct robust *r, double value, struct robust_baseline *u)
{
	double length = block_seconds(&r->blocks), blocks = u->n, high = u->fraction * u->n, as_high = u->as_high;
	double same = same_again(u, value);

	for (size_t i = 0; i < r->n_older; i++) {
		blocks += r->older[i].seconds / length;
		high += older_stretch_blocks_above(&r->older[i], same, length);
		as_high += older_stretch_blocks_above(&r->older[i], value, length);
	}
	u->episodes += older_stretch_episodes(r->older, r->n_older, same, length);
	u->n = (uint32_t)blocks;
	u->as_high = (uint32_t)as_high;
	u->fraction = blocks > 0 ? high / blocks : 0;
}

/* The distribution of n sorted sums of blocks, at least one. */
static void learn_blocks(const struct robust *r, const struct feature *feature, size_t n, struct robust_baseline *u)
{
	u->median = robust_quantile(r->sorted, n, 0.5);
	u->always = robust_quantile(r->sorted, n, ALWAYS);
	u->often = feature->kind == COUNTER ? robust_quantile(r->sorted, n, OFTEN) : u->median;
	u->highest = r->sorted[n - 1];
	u->only_value = r->sorted[0] == r->sorted[(n - 1) * 9 / 10]; /* the beginning of a leak lies in the past already */
	u->spread = robust_scale(r->sorted, n);
}

struct robust_baseline robust_baseline_learn(struct robust *r, const struct feature *feature, double value)
{
	struct robust_baseline u = {.median = NAN, .spread = NAN, .highest = NAN};
	size_t n = blocks_sort(&r->blocks, r->sum, r->sorted);

	u.n = (uint32_t)n;
	if (n < BLOCKS_MIN && !r->n_older) {
		/* too little to say what is usual, or how much it varies; but what it did a moment before is not new */
		u.often = n ? robust_quantile(r->sorted, n, 0.5) : 0;
		return u;
	}
	if (n)
		learn_blocks(r, feature, n, &u);
	if (r->n_older && merge_older(r, feature, n, &u) < 0)
		r->n_older = 0; /* without memory: what the blocks say */
	u.spread = blocks_spread(feature, u.spread, u.median);
	count_episodes(r, value, &u);
	if (r->n_older)
		count_older(r, value, &u);
	return u;
}

static bool same_exe(const char *a, const char *b)
{
	size_t n = strcspn(a, "|");

	return n && n == strcspn(b, "|") && strncmp(a, b, n) == 0;
}

/* The start of a program and those to compare it with. */
const struct startup *robust_program_startup(struct robust *r, struct program *p)
{
	struct startup_past past = {r->q->train_from, r->q->train_to, r->q->excluded};
	struct startup s;

	if (p->starts_known)
		return p->startup;
	p->starts_known = true;
	if (!startup_find(r->d, p->members.v, p->members.n, r->q->focus, r->q->at, &s))
		return NULL;
	startup_add_earlier(r->d, p->members.v, p->members.n, &past, &s);
	for (size_t i = 0; s.n < STARTS_MIN && !p->wide && !p->root && i < r->programs.n; i++) {
		const struct program *peer = r->programs.v[i];

		if (peer != p && same_exe(peer->key, p->key))
			startup_add_earlier(r->d, peer->members.v, peer->members.n, &past, &s);
	}
	if (s.n < STARTS_MIN)
		return NULL;
	p->startup = malloc(sizeof(s));
	if (p->startup)
		*p->startup = s;
	return p->startup;
}

/* In the place of what blocks say. */
static void learn_from_starts(const struct robust *r, const struct startup *s, const struct feature *feature, size_t f,
			      double value, struct robust_baseline *u)
{
	double values[STARTUP_EARLIER];
	size_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		values[n++] = startup_value(r->d, &s->earlier[i], f, r->focus_seconds);
	n = robust_sort(values, n);
	if (n < STARTS_MIN)
		return;
	*u = (struct robust_baseline){.n = (uint32_t)n, .highest = values[n - 1]};
	u->median = robust_quantile(values, n, 0.5);
	u->often = robust_quantile(values, n, OFTEN);
	u->spread = blocks_spread(feature, robust_scale(values, n), u->median);
	for (size_t i = 0; i < n; i++) {
		u->episodes += values[i] >= SAME_START * value;
		u->as_high += values[i] >= value;
	}
	u->fraction = (double)u->episodes / (double)n;
}

struct robust_baseline robust_baseline(struct robust *r, struct program *p, size_t f, double value)
{
	const struct feature *feature = &p->members.v[0]->features[f];
	const struct startup *s = robust_program_startup(r, p);
	struct robust_baseline u;

	robust_blocks_fill(r, p, f);
	u = robust_baseline_learn(r, feature, value);
	if (s)
		learn_from_starts(r, s, feature, f, value, &u);
	return u;
}

/* 1 for what never happened before, towards 0 for what happens all the time. */
double robust_surprise(const struct robust_baseline *u)
{
	double often = u->fraction / USUAL_FRACTION;

	if (isnan(u->median))
		return 1;
	return 1 / (1 + pow(u->episodes, 1.5)) / (1 + often * often);
}

double robust_excess(const struct robust_baseline *u, double value)
{
	double usual = isnan(u->median) ? u->often : fmax(u->median, u->often);

	return value > usual ? value - usual : 0;
}
