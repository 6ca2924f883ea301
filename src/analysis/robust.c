/* Unusual, and in the way: the robust model, and the default one, which joins it with what victims waited for.
 *
 * The unit of judgement is the *program* (exe + unit): what all its processes do together, so that history outlives
 * restarts and many small processes count as one. The time before the trouble is cut into blocks half as long as
 * the trouble (so that an earlier one of the same length fills at least one); a program's usual is their distribution.
 *
 *   usual, spread   median and IQR / 1.349 of the blocks, spread never below what a person could notice
 *   episodes        how often before it did at least 70 % as much: a nightly backup is big but usual
 *   excess          what it uses beyond its usual, discounted by 1 / (1 + episodes)
 *   at its age      a program that has just begun is compared with its earlier starts at the same age instead (of the
 *                   same executable elsewhere, where it has none): starting is heavy for nearly everybody
 *   guilt           sum over resources of shortage(resource) x excess / what all programs use of it
 *
 * Unusual alone is not guilty: without a shortage only what stands far out (leaks of handles, threads, memory) is
 * reported, and weakly. Several features of one resource are one piece of evidence: only the strongest counts.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/blocks.h"
#include "analysis/method.h"
#include "analysis/robust.h"
#include "analysis/startup.h"
#include "base/clock.h"
#include "base/str.h"
#include "stat/robust.h"

#define BLOCK_MIN_NS	(5 * NS_PER_SEC)
#define BLOCK_MAX_NS	(60 * NS_PER_SEC)
#define BLOCKS_MIN	6    /* fewer blocks than this are no history */
#define BLOCKS_WANTED	12
#define SAME_AGAIN	0.7  /* an earlier block with this share of the value is "the same again" */
#define USUAL_FRACTION	0.25 /* done in a quarter of the time: simply what it does */
#define OFTEN		0.9 /* quantile: what is reached a tenth of the time is usual, if not the median */
#define CROWD		100 /* threads a CPU, beyond the usual, from which on their number is the story */
#define STARTER		1.1
#define STARTS_MIN	2   /* fewer earlier starts are no habit */
#define SAME_START	0.5 /* an earlier start with this share of the value did the same */
#define MEMORY_STALL	0.10 /* from this pressure on memory outranks CPU and disk */
#define SUSPECTS_MAX	32
#define IMPOSSIBLE	1.5 /* waits are added when they end: a second's may be longer than a second, but not by much */
#define UNKNOWN_THREADS 16  /* of processes that lived for less than a sample */
#define TIE		0.01 /* of features as guilty as each other the more conspicuous one comes first */
#define CHARGES_TOLD	3
#define CHARGED_LEAST	0.02 /* s/s: fewer waits are no evidence */
#define WAIT_LEAST	5e7  /* ns/s: a twentieth of a thread */
#define LOCKED_LEAST	0.3  /* s/s: less than that is waited for locks at any time */
#define HELD_BEFORE	0.3  /* of the guilt of holding a lock, where it may always have held it */
#define DESCRIBED_IN_FULL 8 /* of them, with all features they have */
#define OLD		(60 * NS_PER_SEC) /* so much older than the trouble: it is not its beginning */
#define OLD_GUILT	0.2
#define GROUP_SHORT	1   /* times a second that a control group runs into its memory limit */
#define ENOUGH_MEMORY	0.1 /* of the machine's that can be had: then what is short is the group's */
#define NEW_LEAST	0.25 /* of what all use */
#define REPORT_SCORE	1e-4

const struct use uses[USES] = {
	{BOTTLENECK_CPU, FEATURE_CPU_TIME, false, 0, 0.02, false},
	{BOTTLENECK_CPU, FEATURE_CHILDREN_CPU, false, 0, 0.02, false},
	{BOTTLENECK_DISK, FEATURE_IO_READ_BYTES, false, 0, 0.02, false},
	{BOTTLENECK_DISK, FEATURE_IO_WRITE_BYTES, false, 0, 0.02, false},
	{BOTTLENECK_MEMORY, FEATURE_MEM_ANON, true, 0, 0.05, false},
	{BOTTLENECK_MEMORY, FEATURE_MEM_SHMEM, true, 0, 0.05, false},
	{BOTTLENECK_MEMORY, FEATURE_MEM_LOCKED, true, 0, 0.05, false},
	{BOTTLENECK_NETWORK, FEATURE_NET_RX_BYTES, false, 0, 0.01, false},
	{BOTTLENECK_NETWORK, FEATURE_NET_TX_BYTES, false, 0, 0.01, false},
	{BOTTLENECK_QUOTA, FEATURE_WAIT_QUOTA, false, 0, 0, true},
	{BOTTLENECK_REMOTE, FEATURE_WAIT_NETWORK, false, 1e9, 0.05, true},
	{BOTTLENECK_NONE, FEATURE_HANDLES_FILES, false, 1000, 0.05, false},
	{BOTTLENECK_NONE, FEATURE_THREADS, false, 300, 0.05, false},
};

/* What a victim waits in. */
static const int delays[] = {FEATURE_CPU_RUN_DELAY, FEATURE_DELAY_BLOCK,     FEATURE_DELAY_RECLAIM,
			     FEATURE_DELAY_SWAPIN,  FEATURE_DELAY_THRASHING, FEATURE_QUOTA_THROTTLED};

static int make_blocks(struct robust *r)
{
	const struct dataset *d = r->d;
	const struct question *q = r->q;
	int64_t trouble = d->ticks.v[q->at].boot - d->ticks.v[q->focus].boot + d->ticks.v[q->focus].span, length, wanted;

	length = trouble / 2;
	length = length < BLOCK_MIN_NS ? BLOCK_MIN_NS : length > BLOCK_MAX_NS ? BLOCK_MAX_NS : length;
	/* a short past in shorter blocks, rather than too few to compare with */
	wanted = blocks_recorded(d, q) / BLOCKS_WANTED;
	if (blocks_cut(&r->blocks, d, q, length > wanted ? wanted : length) < 0)
		return -ENOMEM;
	r->sum = calloc(r->blocks.n + 1, sizeof(*r->sum));
	r->one = calloc(r->blocks.n + 1, sizeof(*r->one));
	r->sorted = calloc(r->blocks.n + 1, sizeof(*r->sorted));
	return r->sum && r->one && r->sorted ? 0 : -ENOMEM;
}

static struct program *program_of(struct robust *r, const struct subject *s)
{
	uint64_t key = hash_text(s->program), name = hash_text(s->info.name ? s->info.name : "");
	bool short_lived = s->info.kind == ENTITY_SHORT_LIVED;
	/* of short-lived processes only the name is known: it is that of a program some process of which lived longer */
	struct program *p = short_lived ? hmap_get(&r->by_name, name, 0) : hmap_get(&r->by_key, key, 0);

	if (!p)
		p = hmap_get(&r->by_key, key, short_lived);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key = s->program;
	if (VEC_PUSH(r->programs, p) < 0) {
		free(p);
		return NULL;
	}
	if (hmap_put(&r->by_key, key, short_lived, p) < 0 || (!short_lived && hmap_put(&r->by_name, name, 0, p) < 0))
		return NULL;
	return p;
}

static int gather_kind(struct robust *r, enum entity_kind kind)
{
	for (size_t i = 0; i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i];
		struct program *p;

		if (s->info.kind != kind || s->first > s->last || s->first > r->q->at)
			continue;
		p = program_of(r, s);
		if (!p || VEC_PUSH(p->members, s) < 0)
			return -ENOMEM;
		p->there |= s->last >= r->q->focus;
	}
	return 0;
}

static int gather_programs(struct robust *r)
{
	int result = gather_kind(r, ENTITY_PROCESS);

	if (result == 0)
		result = gather_kind(r, ENTITY_KERNEL);
	return result == 0 ? gather_kind(r, ENTITY_SHORT_LIVED) : result;
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

/* What one member adds to the focus: growth per second of the *whole* focus, or the time-weighted level. */
static double member_now(const struct robust *r, const struct subject *s, size_t f)
{
	uint32_t from = s->first > r->q->focus ? s->first : r->q->focus;

	if (!subject_has(s, f) || s->last < r->q->focus || s->first > r->q->at)
		return 0;
	if (s->features[f].kind == COUNTER) {
		double rate = subject_growth(r->d, s, f, from, r->q->at) / r->focus_seconds;

		return is_impossible(r, s, f, rate) ? 0 : rate;
	}
	/* the level at the end: what is there now */
	return s->last >= r->q->at ? subject_value(r->d, s, f, r->q->at) : 0;
}

/* What its processes have in common is not there once for each of them. */
static bool is_shared(const struct subject *s, size_t f)
{
	return s->info.kind == ENTITY_PROCESS && f == FEATURE_MEM_SHMEM;
}

double program_now(const struct robust *r, const struct program *p, size_t f)
{
	double all = 0;
	bool any = false;

	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];
		double now = member_now(r, s, f);

		any |= subject_has(s, f);
		now = isnan(now) ? 0 : now;
		all = is_shared(s, f) ? fmax(all, now) : all + now;
	}
	return any ? all : NAN;
}

static void add_member(struct robust *r, const struct subject *s, size_t f)
{
	if (!is_shared(s, f)) {
		blocks_add(&r->blocks, s, f, r->sum);
		return;
	}
	memset(r->one, 0, (r->blocks.n + 1) * sizeof(*r->one));
	blocks_add(&r->blocks, s, f, r->one);
	for (uint32_t i = 0; i <= r->blocks.n; i++)
		r->sum[i] = fmax(r->sum[i], r->one[i]);
}

/* Leaves the program's block values in r->sum; NaN where no member was there or nothing may be learnt. */
static void fill_blocks(struct robust *r, const struct program *p, size_t f)
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
			add_member(r, s, f);
	}
	blocks_finish(&r->blocks, feature, r->sum);
}

static void count_episodes(const struct robust *r, double value, struct usual *u)
{
	uint32_t high = 0, below = 3;

	for (uint32_t i = 0; i < r->blocks.n; i++) {
		if (isnan(r->sum[i]))
			continue;
		u->as_high += r->sum[i] >= value;
		if (r->sum[i] < SAME_AGAIN * value) {
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
	return sum > 0 ? sum / b->n : (double)BLOCK_MAX_NS / 1e9;
}

/* Blocks and what is known of the time before them become one distribution. */
static int merge_older(const struct robust *r, const struct feature *feature, size_t n, struct usual *u)
{
	double length = block_seconds(&r->blocks);
	struct weighted_value *all = calloc(n + r->n_older * STRETCH_POINTS, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		all[i] = (struct weighted_value){r->sorted[i], 1};
	for (size_t i = 0; i < r->n_older; i++, n += STRETCH_POINTS) {
		stretch_points(&r->older[i], feature->kind == COUNTER, length, all + n);
		u->highest = fmax(u->highest, stretch_highest(&r->older[i]));
	}
	qsort(all, n, sizeof(*all), compare_weighted);
	u->median = quantile_weighted(all, n, 0.5);
	u->spread = (quantile_weighted(all, n, 0.75) - quantile_weighted(all, n, 0.25)) / 1.349;
	u->only_value &= all[0].value == all[n - 1].value;
	free(all);
	return 0;
}

/* After count_episodes(): the same of the time before. */
static void count_older(const struct robust *r, double value, struct usual *u)
{
	double length = block_seconds(&r->blocks), blocks = u->n, high = u->fraction * u->n, as_high = u->as_high;

	for (size_t i = 0; i < r->n_older; i++) {
		blocks += r->older[i].seconds / length;
		high += stretch_blocks_above(&r->older[i], SAME_AGAIN * value, length);
		as_high += stretch_blocks_above(&r->older[i], value, length);
	}
	u->episodes += stretches_episodes(r->older, r->n_older, SAME_AGAIN * value, length);
	u->n = (uint32_t)blocks;
	u->as_high = (uint32_t)as_high;
	u->fraction = blocks > 0 ? high / blocks : 0;
}

static struct usual learn(struct robust *r, const struct feature *feature, double value)
{
	struct usual u = {.median = NAN, .spread = NAN, .highest = NAN};
	double floor = noticeable(feature), relative;
	size_t n = 0;

	for (uint32_t i = 0; i < r->blocks.n; i++)
		if (!isnan(r->sum[i]))
			r->sorted[n++] = r->sum[i];
	n = sort_values(r->sorted, n);
	u.n = (uint32_t)n;
	if (n < BLOCKS_MIN)
		return u;
	u.median = quantile_sorted(r->sorted, n, 0.5);
	u.often = feature->kind == COUNTER ? quantile_sorted(r->sorted, n, OFTEN) : u.median;
	u.highest = r->sorted[n - 1];
	u.only_value = r->sorted[0] == r->sorted[(n - 1) * 9 / 10]; /* the beginning of a leak lies in the past already */
	u.spread = iqr_scale_sorted(r->sorted, n);
	if (r->n_older && merge_older(r, feature, n, &u) < 0)
		r->n_older = 0; /* without memory: what the blocks say */
	relative = 0.02 * fabs(u.median);
	if (u.spread < relative)
		u.spread = relative;
	if (u.spread < floor)
		u.spread = floor;
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
static const struct startup *startup_of(struct robust *r, struct program *p)
{
	struct startup_past past = {r->q->train_from, r->q->train_to, r->q->excluded};
	struct startup s;

	if (p->starts_known)
		return p->startup;
	p->starts_known = true;
	if (!startup_find(r->d, p->members.v, p->members.n, r->q->focus, r->q->at, &s))
		return NULL;
	startup_add_earlier(r->d, p->members.v, p->members.n, &past, &s);
	for (size_t i = 0; s.n < STARTS_MIN && !p->wide && i < r->programs.n; i++) {
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
			      double value, struct usual *u)
{
	double values[STARTUP_EARLIER];
	size_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		values[n++] = startup_value(r->d, &s->earlier[i], f, r->focus_seconds);
	n = sort_values(values, n);
	if (n < STARTS_MIN)
		return;
	*u = (struct usual){.n = (uint32_t)n, .highest = values[n - 1]};
	u->median = quantile_sorted(values, n, 0.5);
	u->often = quantile_sorted(values, n, OFTEN);
	u->spread = fmax(fmax(iqr_scale_sorted(values, n), 0.02 * fabs(u->median)), noticeable(feature));
	for (size_t i = 0; i < n; i++) {
		u->episodes += values[i] >= SAME_START * value;
		u->as_high += values[i] >= value;
	}
	u->fraction = (double)u->episodes / (double)n;
}

struct usual usual_of(struct robust *r, struct program *p, size_t f, double value)
{
	const struct feature *feature = &p->members.v[0]->features[f];
	const struct startup *s = startup_of(r, p);
	struct usual u;

	fill_blocks(r, p, f);
	u = learn(r, feature, value);
	if (s)
		learn_from_starts(r, s, feature, f, value, &u);
	return u;
}

/* 1 for what never happened before, towards 0 for what happens all the time. */
static double surprise(const struct usual *u)
{
	double often = u->fraction / USUAL_FRACTION;

	if (isnan(u->median))
		return 1;
	return 1 / (1 + pow(u->episodes, 1.5)) / (1 + often * often);
}

double excess_of(const struct usual *u, double value)
{
	double usual = isnan(u->median) ? 0 : fmax(u->median, u->often);

	return value > usual ? value - usual : 0;
}

/* How much more is waited for a thing than usual, as a share of what is waited now: 0 = as always, 1 = all of it is new.
 * Pressure alone cannot tell once it is near 100 %: a niced program that never rests keeps it there. NaN where the
 * waiting is not measured. */
static double new_waiting(struct robust *r, enum entity_kind kind, size_t f)
{
	struct program all = {.key = ""};
	const struct feature *feature;
	double now = 0;
	struct usual u;

	for (size_t i = 0; i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i];

		if (s->info.kind == kind && s->first <= s->last && s->n_features && subject_has(s, f))
			(void)VEC_PUSH(all.members, s);
	}
	if (!all.members.n)
		return NAN;
	feature = &all.members.v[0]->features[f];
	now = program_now(r, &all, f);
	fill_blocks(r, &all, f);
	u = learn(r, feature, now);
	VEC_FREE(all.members);
	if (!(now > noticeable(feature)))
		return NAN;
	return isnan(u.median) ? 1 : fmax(0, 1 - u.median / now);
}

/* Of waits that no pressure is measured for: what all programs together wait beyond their usual, a whole thread = 1. */
static double waited_more(struct robust *r, size_t f)
{
	double sum = 0;

	for (size_t i = 0; i < r->programs.n; i++) {
		struct program *p = r->programs.v[i];
		double now = p->there ? program_now(r, p, f) : NAN;
		struct usual u;

		if (isnan(now) || now < WAIT_LEAST)
			continue;
		u = usual_of(r, p, f, now);
		sum += excess_of(&u, now) * surprise(&u);
	}
	return fmin(1, sum / 1e9);
}

static double shortage_of(struct robust *r, enum bottleneck b)
{
	const struct pressure *p = &r->q->pressure;
	double now = p->now[b], usual = isnan(p->usual[b]) ? 0 : fmin(p->usual[b], now), more = NAN;

	/* threads that wait for work wait in the same call: only events tell them from those that wait for a lock */
	if (b == BOTTLENECK_LOCK)
		return r->joined && r->q->charges && r->q->charges->total[b] >= LOCKED_LEAST ? fmin(1, r->q->charges->total[b]) : 0;
	if (r->joined && b == BOTTLENECK_QUOTA)
		return waited_more(r, FEATURE_WAIT_QUOTA);
	if (isnan(now))
		return 0;
	if (b == BOTTLENECK_CPU)
		more = new_waiting(r, ENTITY_PROCESS, FEATURE_CPU_RUN_DELAY);
	else if (b == BOTTLENECK_DISK)
		more = new_waiting(r, ENTITY_DISK, FEATURE_DISK_WAIT);
	/* what the machine always lives with hurts less than what came with the trouble */
	now = isnan(more) ? now - 0.5 * usual : fmax(now - usual, now * more);
	/* under reclaim everybody reads and waits: what is short is memory */
	if (b != BOTTLENECK_MEMORY && p->now[BOTTLENECK_MEMORY] >= MEMORY_STALL)
		now *= 0.25;
	return now;
}

static double shortage(const struct robust *r, const struct use *use)
{
	return fmax(use->weight, use->resource == BOTTLENECK_NONE ? 0 : r->shortage[use->resource]);
}

/* Reads and writes share a disk by the time they take, not by their bytes: a few synchronous writes can hold up a
 * stream of reads, and a trickle of buffered ones does not. */
static void weigh_disk(struct robust *r)
{
	double reads = 0, writes = 0;

	for (size_t i = 0; i < r->d->subjects.n; i++) {
		const struct subject *s = r->d->subjects.v[i];

		if (s->info.kind != ENTITY_DISK || s->first > s->last)
			continue;
		reads += subject_growth(r->d, s, FEATURE_DISK_READ_TIME, r->q->focus, r->q->at);
		writes += subject_growth(r->d, s, FEATURE_DISK_WRITE_TIME, r->q->focus, r->q->at);
	}
	r->read_part = r->write_part = 1;
	if (reads + writes <= 0)
		return;
	r->read_part = reads / (reads + writes);
	r->write_part = writes / (reads + writes);
}

static double disk_part(const struct robust *r, const struct use *use)
{
	return use->feature == FEATURE_IO_READ_BYTES  ? r->read_part :
	       use->feature == FEATURE_IO_WRITE_BYTES ? r->write_part :
							1;
}

/* Of the machine's memory; when memory is short, of what came on top of the usual: a small control group can be
 * short of memory on a large machine. */
static double share_of_memory(const struct robust *r, const struct use *use, double excess)
{
	double growth = r->growth[use->feature], all = (double)r->q->memory, share;

	if (all <= 0)
		return 0;
	share = excess / all;
	if (r->q->pressure.now[BOTTLENECK_MEMORY] >= MEMORY_STALL && growth > 0)
		share = fmax(share, excess / growth * fmin(1, growth / (0.01 * all)));
	return fmin(1, share);
}

/* What others waited on account of a program, as a share of all such waits; NaN where no events tell. */
static double charged_share(const struct robust *r, const struct program *p, enum bottleneck of)
{
	const struct charges *c = r->joined ? r->q->charges : NULL;

	if (!c || !(c->total[of] >= CHARGED_LEAST))
		return NAN;
	return charges_against(c, p->key, of) / c->total[of];
}

/* Of what programs can have, the scheduler gives a nice one less than a normal one: next to nothing at nice 19. */
static double right_to_cpu(const struct robust *r, const struct program *p)
{
	double least = 20;

	for (size_t i = 0; r->joined && i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];
		double nice = s->last >= r->q->focus && subject_has(s, FEATURE_SCHED_NICE) ?
				      subject_value(r->d, s, FEATURE_SCHED_NICE, s->last < r->q->at ? s->last : r->q->at) :
				      NAN;

		if (!isnan(nice) && nice < least)
			least = nice;
	}
	return least > 0 && least < 20 ? pow(1.25, -least) : 1; /* kernel/sched/core.c: sched_prio_to_weight */
}

/* What came on top of the usual is to blame, not what always was there; but a little that is new is not all of it. */
static double all_new(const struct robust *r, size_t feature)
{
	return fmax(r->growth[feature], NEW_LEAST * r->total[feature]);
}

static double share_of(const struct robust *r, const struct use *use, double excess)
{
	if (use->scale > 0)
		return excess / (excess + use->scale);
	if (use->of_memory)
		return share_of_memory(r, use, excess);
	return r->total[use->feature] > 0 ? disk_part(r, use) * fmin(1, excess / all_new(r, (size_t)use->feature)) : 0;
}

/* What it used of it, and what others waited for that: each is half of the evidence, where both are known. */
static double joined_share(const struct robust *r, const struct program *p, const struct use *use, double now, double excess)
{
	double share = share_of(r, use, excess), charged = charged_share(r, p, use->resource);

	if (use->resource == BOTTLENECK_CPU)
		share *= right_to_cpu(r, p);
	if (isnan(charged) || use->joined)
		return share;
	return (share + charged * excess / now) / 2;
}

static enum shape shape_of(const struct robust *r, const struct usual *u, const struct feature *f)
{
	const struct blocks *b = &r->blocks;
	uint32_t rises = 0, n = 0;

	if (u->episodes >= 3)
		return SHAPE_PERIODIC;
	if (f->kind != COUNTER) {
		for (uint32_t i = b->n > 12 ? b->n - 12 : 1; i < b->n; i++) {
			n++;
			rises += r->sum[i] > r->sum[i - 1];
		}
		if (n >= 5 && rises * 4 >= n * 3)
			return SHAPE_RAMP;
		return SHAPE_STEP;
	}
	return r->focus_seconds > 30 ? SHAPE_STEP : SHAPE_SPIKE;
}

static const struct subject *most_responsible(const struct robust *r, const struct program *p, size_t f,
					      double *ret_part)
{
	const struct subject *best = NULL;
	double most = -1, sum = 0;

	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];
		double now = member_now(r, s, f), before, excess;

		if (isnan(now) || s->last < r->q->focus)
			continue;
		before = s->first < r->q->focus && r->q->train_to >= r->q->train_from ?
				 subject_mean(r->d, s, f, r->q->train_from, (uint32_t)r->q->train_to) :
				 0;
		excess = now - (isnan(before) ? 0 : before);
		if (excess > 0)
			sum += excess;
		if (excess > most) {
			most = excess;
			best = s;
		}
	}
	*ret_part = sum > 0 ? most / sum : 0;
	return best;
}

static int64_t since_when(const struct robust *r, const struct subject *s, size_t f, double usual, double now)
{
	double half = usual + (now - usual) / 2;
	uint32_t tick = r->q->at, low = 0;

	for (uint32_t t = r->q->at; t >= s->first && t >= r->q->train_from; t--) {
		double value = subject_value(r->d, s, f, t);

		if (isnan(value) || value < half) {
			if (++low >= 3)
				break;
		} else {
			tick = t;
			low = 0;
		}
		if (t == 0)
			break;
	}
	return r->d->ticks.v[tick].wall;
}

bool began_lately(const struct robust *r, const struct subject *s)
{
	return r->q->train_to >= r->q->train_from ? s->first > r->q->train_to : s->first >= r->q->focus;
}

static bool is_new(const struct robust *r, const struct program *p)
{
	for (size_t i = 0; i < p->members.n; i++)
		if (!began_lately(r, p->members.v[i]))
			return false;
	return true;
}

static int describe_feature(struct robust *r, struct program *p, size_t f, double guilt, struct suspect *suspect)
{
	struct deviation dev = {};
	struct usual u;

	dev.feature = &p->members.v[0]->features[f];
	dev.observed = program_now(r, p, f);
	if (isnan(dev.observed))
		return 0;
	u = usual_of(r, p, f, dev.observed);
	dev.usual = u.median;
	dev.spread = u.spread;
	dev.deviation = isnan(u.median) ? NAN : (dev.observed - u.median) / u.spread;
	dev.rank = u.as_high + 1;
	dev.compared = u.n + 1;
	if (isnan(u.median))
		dev.flags |= FINDING_NO_HISTORY;
	else if (is_new(r, p) && !r->n_older)
		dev.flags |= FINDING_NEW;
	else if (u.only_value && fabs(dev.observed - u.median) >= noticeable(dev.feature))
		dev.flags |= FINDING_LEFT_ONLY_VALUE;
	if (!isnan(u.median) && dev.observed > u.highest)
		dev.flags |= FINDING_HIGHEST;
	if (!isnan(dev.deviation) && dev.deviation > 3)
		dev.score = surprise(&u) * dev.deviation / (dev.deviation + 10);
	/* guilt first; behind it what is conspicuous without being to blame, never above it */
	if (guilt > 0)
		dev.score = 1 + guilt + TIE * dev.score;
	if (dev.score <= 0)
		return 0;
	dev.shape = shape_of(r, &u, dev.feature);
	return VEC_PUSH(suspect->features, dev);
}

/* Whoever holds a lock that others wait for. A program that always did so is less of a surprise than a new one. */
static double guilt_of_lock(const struct robust *r, const struct program *p)
{
	double share = charged_share(r, p, BOTTLENECK_LOCK);

	return isnan(share) ? 0 : r->shortage[BOTTLENECK_LOCK] * share * (is_new(r, p) ? 1 : HELD_BEFORE);
}

/* What has no limit but its process's own leaks in one process: four hundred new ones with eight files each are no leak. */
static double leakers(const struct robust *r, const struct program *p, const struct use *use)
{
	uint32_t there = 0;

	for (size_t i = 0; use->resource == BOTTLENECK_NONE && i < p->members.n; i++)
		there += p->members.v[i]->last >= r->q->at && p->members.v[i]->first <= r->q->at;
	return there > 1 ? there : 1;
}

/* Who waits for an answer over the network while this machine is short of something may wait for this machine; and whoever
 * computes less than usual is not asked as much: a server waits for work in the same call. */
static double waits_elsewhere(struct robust *r, struct program *p, double waited)
{
	double computes = program_now(r, p, FEATURE_CPU_TIME), most = 0;
	struct usual u;

	for (int b = 0; b < BOTTLENECK_COUNT; b++)
		most = fmax(most, r->shortage[b]);
	if (isnan(computes))
		return waited * (1 - fmin(1, most));
	u = usual_of(r, p, FEATURE_CPU_TIME, computes);
	return fmax(0, waited - (u.median > computes ? u.median - computes : 0)) * (1 - fmin(1, most));
}

/* Where nothing is known of a program's past, whether it is older than the trouble is. */
static double youth(const struct robust *r, const struct program *p)
{
	const struct moment *at = &r->d->ticks.v[r->q->at];
	int64_t trouble = at->boot - r->d->ticks.v[r->q->focus].boot, oldest = 0;

	for (size_t i = 0; i < p->members.n; i++) {
		const struct entity_info *info = &p->members.v[i]->info;
		int64_t age = info->start ? at->boot - (int64_t)info->start : 0;

		oldest = age > oldest ? age : oldest;
	}
	return oldest > 2 * trouble + OLD ? OLD_GUILT : 1;
}

/* A control group of which a program's unit is, or is below. */
static bool is_in_group(const struct program *p, const char *group)
{
	const char *unit = p->members.v[0]->info.unit;
	size_t n = strlen(group);

	return unit && strncmp(unit, group, n) == 0 && (!unit[n] || unit[n] == '/');
}

/* The control group that has run into its memory limit while the machine has enough; NULL = none, or nobody is known to
 * be in it. */
static const char *find_short_group(const struct robust *r)
{
	const struct dataset *d = r->d;
	const char *found = NULL;
	double most = GROUP_SHORT;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		double hits;

		if (s->first > s->last)
			continue;
		if (s->info.kind == ENTITY_SYSTEM && s->last >= r->q->at && s->first <= r->q->at &&
		    !(subject_value(d, s, FEATURE_SYS_MEM_AVAILABLE, r->q->at) >= ENOUGH_MEMORY * (double)r->q->memory))
			return NULL;
		if (s->info.kind != ENTITY_CGROUP || !s->info.name)
			continue;
		hits = (subject_growth(d, s, FEATURE_CG_MEMORY_MAX, r->q->focus, r->q->at) +
			subject_growth(d, s, FEATURE_CG_MEMORY_HIGH, r->q->focus, r->q->at)) / r->focus_seconds;
		if (hits > most) {
			most = hits;
			found = s->info.name;
		}
	}
	for (size_t i = 0; found && i < r->programs.n; i++)
		if (r->programs.v[i]->there && is_in_group(r->programs.v[i], found))
			return found;
	return NULL;
}

/* The guilt of a program by each use; *ret_worst = the use with the most. */
static double guilt_of(struct robust *r, struct program *p, double guilt[USES], size_t *ret_worst, double *ret_lock)
{
	double by_resource[BOTTLENECK_COUNT] = {}, sum = 0, worst = 0, crowd = 0;
	size_t cpu = 0, threads = USES - 1; /* their places in `uses` */

	for (size_t i = 0; i < USES; i++) {
		size_t f = (size_t)uses[i].feature;
		double now = program_now(r, p, f), excess;
		struct usual u;

		guilt[i] = 0;
		if (uses[i].joined && !r->joined)
			continue;
		if (isnan(now) || now < noticeable(&p->members.v[0]->features[f]))
			continue;
		/* even if all of it were new, would it matter? */
		if (shortage(r, &uses[i]) * share_of(r, &uses[i], now) < REPORT_SCORE)
			continue;
		u = usual_of(r, p, f, now);
		excess = excess_of(&u, now) / leakers(r, p, &uses[i]);
		if (f == FEATURE_WAIT_NETWORK)
			excess = waits_elsewhere(r, p, excess);
		guilt[i] = shortage(r, &uses[i]) * joined_share(r, p, &uses[i], now, excess) * surprise(&u);
		if (isnan(u.median))
			guilt[i] *= youth(r, p);
		if (uses[i].resource == BOTTLENECK_MEMORY && r->short_group && !is_in_group(p, r->short_group))
			guilt[i] = 0; /* it has none of the group's memory */
		if (f == FEATURE_THREADS)
			crowd = excess_of(&u, now);
		if (f == FEATURE_CHILDREN_CPU)
			guilt[i] *= STARTER; /* who starts them is named before what he starts */
		if (uses[i].resource == BOTTLENECK_NONE)
			sum += guilt[i];
		else if (guilt[i] > by_resource[uses[i].resource])
			by_resource[uses[i].resource] = guilt[i];
		if (guilt[i] > worst) {
			worst = guilt[i];
			*ret_worst = i;
		}
	}
	*ret_lock = by_resource[BOTTLENECK_LOCK] = guilt_of_lock(r, p);
	for (size_t i = 0; i < BOTTLENECK_COUNT; i++)
		sum += by_resource[i];
	/* a CPU taken by hundreds of threads is first of all too many threads */
	if (crowd >= CROWD * r->q->cpus && guilt[cpu] > 0 && *ret_worst == cpu)
		guilt[threads] = 1.05 * guilt[cpu];
	return sum;
}

/* The recorder has more to do because it is slow: it looks at who is in the way. */
static bool is_recorder(const struct program *p)
{
	for (size_t i = 0; i < p->members.n; i++)
		if (p->members.v[i]->info.flags & ENTITY_IS_SELF)
			return true;
	return false;
}

/* kswapd, kworkers and soft interrupts work for others: they are named when nobody else can be. */
bool works_for_others(const struct program *p)
{
	const struct entity_info *info = &p->members.v[0]->info;

	return info->kind == ENTITY_KERNEL || (info->flags & ENTITY_IS_KERNEL_THREAD);
}

static double share_in_use(const struct robust *r, const struct program *p, const struct use *use)
{
	double now = program_now(r, p, (size_t)use->feature);

	if (use->of_memory)
		return r->q->memory ? now / (double)r->q->memory : NAN;
	return !use->scale && r->total[use->feature] > 0 ? fmin(1, now / r->total[use->feature]) : NAN;
}

static uint32_t count_members(const struct robust *r, const struct program *p)
{
	double n = 0;

	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];

		if (s->info.kind == ENTITY_SHORT_LIVED)
			n += subject_growth(r->d, s, FEATURE_CHILDREN_SHORT, r->q->focus, r->q->at);
		else
			n += s->last >= r->q->focus;
	}
	return (uint32_t)n;
}

static const struct subject *find_starter(const struct robust *r, const struct subject *s)
{
	const struct subject *found = NULL;

	for (size_t i = 0; s->info.kind == ENTITY_SHORT_LIVED && i < r->d->subjects.n; i++) {
		const struct subject *other = r->d->subjects.v[i];

		if (other->info.kind == ENTITY_PROCESS && other->info.pid == s->info.parent && other->last >= r->q->focus)
			found = other;
	}
	return found;
}

/* Held back by a limit: because it wants more than it used to, or because it is given less? */
static bool wants_more(struct robust *r, struct program *p)
{
	double now = program_now(r, p, FEATURE_CPU_TIME);
	struct usual u;

	if (isnan(now) || now < noticeable(&p->members.v[0]->features[FEATURE_CPU_TIME]))
		return false;
	u = usual_of(r, p, FEATURE_CPU_TIME, now);
	return excess_of(&u, now) * surprise(&u) >= now / 2;
}

static enum culprit_kind kind_of(struct robust *r, struct program *p, const struct suspect *s, double part)
{
	if (s->of == BOTTLENECK_REMOTE)
		return CULPRIT_HOST;
	if (s->of == BOTTLENECK_QUOTA && !wants_more(r, p))
		return CULPRIT_LIMIT;
	if (works_for_others(p))
		return CULPRIT_KERNEL;
	return part < 0.7 || s->subject->info.kind == ENTITY_SHORT_LIVED ? CULPRIT_GROUP : CULPRIT_PROCESS;
}

/* 1 = *ret is worth a look, 0 = not. */
static int judge(struct robust *r, struct program *p, struct verdict *ret)
{
	struct suspect *s = &ret->suspect;
	size_t worst = 0;
	double part, lock;

	ret->program = p;
	s->score = guilt_of(r, p, ret->guilt, &worst, &lock);
	if (works_for_others(p) || is_recorder(p))
		s->score *= 0.25;
	if (s->score < REPORT_SCORE)
		return 0;
	s->of = lock > ret->guilt[worst] ? BOTTLENECK_LOCK : uses[worst].resource;
	ret->lock = lock;
	s->subject = most_responsible(r, p, (size_t)uses[worst].feature, &part);
	if (!s->subject)
		return 0;
	s->members = count_members(r, p);
	s->starter = find_starter(r, s->subject);
	s->kind = kind_of(r, p, s, part);
	s->share = share_in_use(r, p, &uses[worst]);
	return 1;
}

static int describe(struct robust *r, struct program *p, const struct verdict *v, uint64_t features, struct suspect *s)
{
	const double *guilt = v->guilt;

	for (size_t i = 0; i < p->members.v[0]->n_features; i++) {
		double of_feature = 0;

		if (!(features >> i & 1))
			continue;
		for (size_t k = 0; k < USES; k++)
			if ((size_t)uses[k].feature == i)
				of_feature = guilt[k];
		if (i == FEATURE_WAIT_LOCK)
			of_feature = v->lock;
		if (describe_feature(r, p, i, of_feature, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void sum_totals(struct robust *r)
{
	for (size_t i = 0; i < r->programs.n; i++)
		for (size_t k = 0; k < USES; k++) {
			double now = r->programs.v[i]->there ? program_now(r, r->programs.v[i], (size_t)uses[k].feature) : NAN;

			/* what short-lived children used is on their parent's account and in their own group's: once */
			if (uses[k].feature == FEATURE_CPU_TIME || uses[k].feature == FEATURE_CHILDREN_CPU)
				continue;
			if (!isnan(now))
				r->total[uses[k].feature] += now;
		}
	for (size_t i = 0; i < r->programs.n; i++) {
		double now = program_now(r, r->programs.v[i], FEATURE_CPU_TIME);

		if (!isnan(now))
			r->total[FEATURE_CPU_TIME] += now;
	}
	r->total[FEATURE_CHILDREN_CPU] = r->total[FEATURE_CPU_TIME];
}

static void sum_growth(struct robust *r)
{
	bool short_of_memory = r->q->pressure.now[BOTTLENECK_MEMORY] >= MEMORY_STALL;

	for (size_t i = 0; i < r->programs.n; i++)
		for (size_t k = 0; k < USES; k++) {
			struct program *p = r->programs.v[i];
			size_t f = (size_t)uses[k].feature;
			bool asked = uses[k].of_memory ? short_of_memory : !uses[k].scale;
			double now = asked && p->there ? program_now(r, p, f) : NAN;
			struct usual u;

			if (isnan(now) || now < noticeable(&p->members.v[0]->features[f]) || now < NEW_LEAST / 10 * r->total[f])
				continue;
			u = usual_of(r, p, f, now);
			r->growth[f] += excess_of(&u, now) * (uses[k].resource == BOTTLENECK_CPU ? right_to_cpu(r, p) : 1);
		}
	r->growth[FEATURE_CHILDREN_CPU] = r->growth[FEATURE_CPU_TIME];
}

/* Who waited: run delay and block delay beyond the usual, in seconds per second. */
static int find_victims(struct robust *r, struct ranking *ret)
{
	for (size_t i = 0; i < r->programs.n; i++) {
		struct program *p = r->programs.v[i];
		struct suspect victim = {.share = NAN};

		if (!p->there || works_for_others(p))
			continue;
		for (size_t k = 0; k < sizeof(delays) / sizeof(delays[0]); k++) {
			double now = program_now(r, p, (size_t)delays[k]), part;
			struct usual u;

			if (isnan(now) || now < 2e7)
				continue;
			u = usual_of(r, p, (size_t)delays[k], now);
			victim.score += excess_of(&u, now) / 1e9;
			victim.subject = most_responsible(r, p, (size_t)delays[k], &part);
			if (describe_feature(r, p, (size_t)delays[k], now / 1e9, &victim) < 0)
				return -ENOMEM;
		}
		victim.members = (uint32_t)p->members.n;
		if (victim.score < 0.02 || !victim.subject || VEC_PUSH(ret->victims, victim) < 0)
			suspect_free(&victim);
	}
	return 0;
}

/* Sparklines and onsets of features[from..]: only for those that are shown. */
static void finish_features(struct robust *r, struct suspect *s, const struct subject *subject, size_t from)
{
	for (size_t j = from; j < s->features.n; j++) {
		struct deviation *dev = &s->features.v[j];
		size_t f = (size_t)(dev->feature - subject->features);

		dev->since = since_when(r, subject, f, isnan(dev->usual) ? 0 : dev->usual, dev->observed);
		deviation_spark(r->d, subject, f, r->q->train_from, r->q->at, dev->spark);
	}
}

static void finish_suspect(struct robust *r, struct suspect *s)
{
	finish_features(r, s, s->subject, 0);
}

/* Whoever has a third of the first one's guilt had a hand in it. */
static void assign_roles(struct ranking *ret)
{
	for (size_t i = 1; i < ret->suspects.n; i++)
		ret->suspects.v[i].role = ROLE_CONTRIBUTING;
}

static void robust_free(struct robust *r)
{
	for (size_t i = 0; i < r->programs.n; i++) {
		VEC_FREE(r->programs.v[i]->members);
		free(r->programs.v[i]->startup);
		free(r->programs.v[i]);
	}
	VEC_FREE(r->programs);
	VEC_FREE(r->verdicts);
	hmap_free(&r->by_key);
	hmap_free(&r->by_name);
	blocks_free(&r->blocks);
	free(r->sum);
	free(r->one);
	free(r->sorted);
}

static int by_guilt(const void *a, const void *b)
{
	const struct verdict *x = a, *y = b;

	if (x->suspect.score != y->suspect.score)
		return x->suspect.score > y->suspect.score ? -1 : 1;
	return x->suspect.subject->info.id < y->suspect.subject->info.id ? -1 : 1;
}

static int judge_all(struct robust *r, struct ranking *ret)
{
	for (size_t i = 0; i < r->programs.n; i++) {
		struct verdict v = {.suspect.share = NAN};

		if (!r->programs.v[i]->there)
			continue;
		ret->looked_at++;
		if (judge(r, r->programs.v[i], &v) && VEC_PUSH(r->verdicts, v) < 0)
			return -ENOMEM;
	}
	if (r->joined && move_guilt(r) < 0)
		return -ENOMEM;
	if (r->verdicts.n)
		qsort(r->verdicts.v, r->verdicts.n, sizeof(r->verdicts.v[0]), by_guilt);
	return 0;
}

/* The same program in the dataset that has all of its features. */
static int widen_program(const struct dataset *wide, struct program *p, struct program *ret)
{
	*ret = (struct program){.key = p->key, .there = p->there, .wide = true};
	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = dataset_subject(wide, p->members.v[i]->info.id);

		if (s && VEC_PUSH(ret->members, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Reads the other features of the first suspects' programs. */
static int widen(struct robust *r, const struct dataset **ret)
{
	VEC(const struct subject *) wanted = {};
	int result = 0;

	*ret = r->d;
	if (!r->q->widen || !r->verdicts.n)
		return 0;
	for (size_t i = 0; i < r->verdicts.n && i < DESCRIBED_IN_FULL; i++)
		for (size_t k = 0; result == 0 && k < r->verdicts.v[i].program->members.n; k++)
			result = VEC_PUSH(wanted, r->verdicts.v[i].program->members.v[k]);
	if (result == 0)
		result = r->q->widen(r->q->context, wanted.v, wanted.n, ret);
	VEC_FREE(wanted);
	return result;
}

/* What only the wide dataset has, which has the same ticks. */
static int describe_further(struct robust *r, const struct dataset *wide, struct verdict *v)
{
	const struct dataset *narrow = r->d;
	const struct subject *subject = dataset_subject(wide, v->suspect.subject->info.id);
	size_t before = v->suspect.features.n;
	struct program p;
	int result = widen_program(wide, v->program, &p);

	r->d = wide;
	if (result == 0 && subject && p.members.n == v->program->members.n) {
		result = describe(r, &p, v, ~r->method->features, &v->suspect);
		finish_features(r, &v->suspect, subject, before);
	}
	r->d = narrow;
	VEC_FREE(p.members);
	free(p.startup);
	return result;
}

/* With whom it was compared, for those that have just begun. */
static int tell_start(struct robust *r, struct verdict *v)
{
	const struct startup *s = startup_of(r, v->program);
	bool own = s && s->earlier[0].members == v->program->members.v;
	char from[32], to[32], *text;

	if (!s)
		return 0;
	if (asprintf(&text, "compared with %u earlier start%s of %s at the same age (%s to %s)", s->n, s->n == 1 ? "" : "s",
		     own ? "it" : "the same program", format_span(s->from, from, sizeof(from)),
		     format_span(s->to, to, sizeof(to))) < 0)
		return -ENOMEM;
	if (VEC_PUSH(v->suspect.evidence, text) == 0)
		return 0;
	free(text);
	return -ENOMEM;
}

/* "editor" of "/usr/bin/editor|session.scope" */
static void put_program(struct str *s, const char *program)
{
	size_t n = strcspn(program, "|");
	const char *base = memrchr(program, '/', n);

	if (base)
		n -= (size_t)(base + 1 - program);
	str_append(s, base ? base + 1 : program, n);
}

/* Who waited for it, and how much, where events were kept of that. */
static int tell_charges(const struct robust *r, struct verdict *v)
{
	const struct charges *c = r->joined ? r->q->charges : NULL;
	double all = c ? charges_against(c, v->program->key, v->suspect.of) : 0;
	struct str text = {};
	unsigned told = 0;

	if (all < CHARGED_LEAST)
		return 0;
	str_printf(&text, "others waited %.2g s in each second on its account:", all);
	for (size_t i = 0; i < c->list.n && told < CHARGES_TOLD; i++) {
		const struct charge *one = &c->list.v[i];

		if (one->of != v->suspect.of || strcmp(one->culprit, v->program->key) != 0)
			continue;
		str_puts(&text, told++ ? ", " : " ");
		put_program(&text, one->victim);
		str_printf(&text, " %.0f %%", 100 * one->seconds / all);
	}
	if (!text.error && VEC_PUSH(v->suspect.evidence, text.data) == 0)
		return 0;
	str_free(&text);
	return -ENOMEM;
}

static int describe_in_full(struct robust *r, const struct dataset *wide, struct verdict *v)
{
	uint64_t features = wide == r->d ? UINT64_MAX : r->method->features;
	int result = describe(r, v->program, v, features, &v->suspect);

	if (result == 0)
		result = tell_start(r, v);
	if (result == 0)
		result = tell_charges(r, v);
	finish_suspect(r, &v->suspect);
	return result == 0 && wide != r->d ? describe_further(r, wide, v) : result;
}

static int describe_all(struct robust *r, struct ranking *ret)
{
	const struct dataset *wide;
	int result = widen(r, &wide);

	for (size_t i = 0; result == 0 && i < r->verdicts.n && i < SUSPECTS_MAX; i++) {
		struct verdict *v = &r->verdicts.v[i];

		result = describe_in_full(r, i < DESCRIBED_IN_FULL ? wide : r->d, v);
		if (result == 0)
			result = VEC_PUSH(ret->suspects, v->suspect);
		if (result < 0)
			suspect_free(&v->suspect);
	}
	return result;
}

static int rank_all(struct robust *r, struct ranking *ret)
{
	int result = gather_programs(r);

	if (result == 0)
		result = make_blocks(r);
	if (result < 0)
		return result;
	for (int b = 0; b < BOTTLENECK_COUNT; b++)
		r->shortage[b] = shortage_of(r, (enum bottleneck)b);
	r->short_group = find_short_group(r);
	weigh_disk(r);
	sum_totals(r);
	sum_growth(r);
	result = judge_all(r, ret);
	if (result == 0)
		result = describe_all(r, ret);
	if (result == 0)
		result = find_victims(r, ret);
	ranking_sort(ret);
	while (ret->victims.n > SUSPECTS_MAX)
		suspect_free(&ret->victims.v[--ret->victims.n]);
	assign_roles(ret);
	for (size_t i = 0; i < ret->victims.n; i++)
		finish_suspect(r, &ret->victims.v[i]);
	return result;
}

static int rank_by(const struct method *method, const struct dataset *d, const struct question *q, struct ranking *ret)
{
	struct robust r = {.d = d, .q = q, .method = method, .joined = method == &method_blame};
	int result;

	ret->method = method->name;
	for (uint32_t t = q->focus; t <= q->at; t++)
		r.focus_seconds += (double)d->ticks.v[t].span / 1e9;
	if (r.focus_seconds <= 0)
		return 0;
	result = rank_all(&r, ret);
	robust_free(&r);
	return result;
}

static int robust_rank(const struct dataset *d, const struct question *q, struct ranking *ret)
{
	return rank_by(&method_robust, d, q, ret);
}

static int blame_rank(const struct dataset *d, const struct question *q, struct ranking *ret)
{
	return rank_by(&method_blame, d, q, ret);
}

#define BIT(f) (1ull << FEATURE_##f)

/* what `uses` and `delays` name */
#define USED                                                                                                         \
	(BIT(CPU_TIME) | BIT(CHILDREN_CPU) | BIT(CHILDREN_SHORT) | BIT(IO_READ_BYTES) | BIT(IO_WRITE_BYTES) |        \
	 BIT(MEM_ANON) | BIT(MEM_SHMEM) | BIT(MEM_LOCKED) | BIT(NET_RX_BYTES) | BIT(NET_TX_BYTES) | BIT(HANDLES_FILES) | \
	 BIT(THREADS) | BIT(CPU_RUN_DELAY) | BIT(DELAY_BLOCK) | BIT(DELAY_RECLAIM) | BIT(DELAY_SWAPIN) |             \
	 BIT(DELAY_THRASHING) | BIT(QUOTA_THROTTLED))

const struct method method_robust = {
	.name = "robust",
	.help = "beyond its usual, of what is short: median and episodes, weighed by pressure",
	.features = USED,
	.rank = robust_rank,
};

const struct method method_blame = {
	.name = "blame",
	.help = "as robust, and what the victims waited for: who was in their way, locks, limits (default)",
	.features = USED | BIT(SCHED_NICE) | BIT(WAIT_LOCK) | BIT(WAIT_QUOTA) | BIT(WAIT_NETWORK) | BIT(NET_RX_CALLS) |
		    BIT(NET_TX_CALLS),
	.rank = blame_rank,
};
