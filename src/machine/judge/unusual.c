/* Every process on its own, ranked by how far it lies from its own past: the paper's first two panes, with robust
 * statistics in place of the Gaussian. It says what is unusual, not who is to blame.
 *
 *   usual, spread   median and IQR / 1.349 of blocks of the time before; spread never below what a person could notice
 *                   nor below 2 % of the usual
 *   deviation       (now - usual) / spread, now = the mean of the last seconds that are known (a counter), the level (a gauge)
 *   score           of a feature: |deviation| / (|deviation| + 10), halved by each earlier block as far out as it; 0 within its spread;
 *                   of a process: that of its most unusual feature, plus a tenth of the others'
 *
 * Among equals, who uses more CPU comes first.
 *
 * A process younger than that is compared with what its program's earlier process did; if its program is new as well,
 * with nothing at all: then what it does counts, and not that it is there. Its threads, its files, and waits in which it may just have
 * nothing to do do not count for a new program, and its memory counts as far as the machine notices it. Where the recording itself is too young for a history, each is compared with the ticks of the window before now. Of what is
 * no use of anything (nice values, waits without work ...) half counts.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"
#include "lib/stat/robust.h"
#include "machine/judge/blocks.h"

#define NOW_NS	     (3 * NS_PER_SEC) /* "now" is the mean of so much */
#define BLOCK_MIN_NS (5 * NS_PER_SEC)
#define BLOCKS_MAX   240 /* of everybody: a finer cut would not change the quantiles */
#define TICKS_MAX    64	 /* the newest of the window, where there is no history */
#define FAR	     10.0 /* deviation at which half of the score is reached */
#define OTHERS	     0.1
#define OF_MEMORY    0.02 /* of the machine's: so much memory of a new program is noticed */
#define TIE	     1e-4 /* what a whole CPU adds: less than any deviation worth seeing */

struct past_comparison {
	const struct dataset *d;
	const struct method_question *q;
	struct blocks blocks;
	uint32_t now_from;
	double memory; /* of the machine, bytes; 0 = not known */
	double *value, *sorted;	 /* blocks.n + 1 */
	struct hmap predecessor; /* hash of a program -> its longest-lived earlier process */
};

static bool is_process(const struct subject *s)
{
	return s->info.kind == ENTITY_PROCESS || s->info.kind == ENTITY_KERNEL;
}

static int find_predecessors(struct past_comparison *l)
{
	for (size_t i = 0; i < l->d->subjects.n; i++) {
		struct subject *s = l->d->subjects.v[i], *known;
		uint64_t key = hmap_hash_text(s->program);

		if (!is_process(s) || s->first > s->last)
			continue;
		known = hmap_get(&l->predecessor, key, 0);
		if (known && known->last - known->first >= s->last - s->first)
			continue;
		if (hmap_put(&l->predecessor, key, 0, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Blocks in which the subject was there, and read, from beginning to end and from which may be learnt, sorted. */
static size_t collect(struct past_comparison *l, const struct subject *s, size_t f)
{
	const struct blocks *b = &l->blocks;
	uint32_t until = subject_known_until(s, f);
	size_t n = 0;

	memset(l->value, 0, (b->n + 1) * sizeof(*l->value));
	blocks_add(b, s, f, l->value);
	blocks_finish(b, &s->features[f], l->value);
	for (uint32_t i = 0; i < b->n; i++)
		if (b->start[i] >= s->first && b->start[i + 1] - 1 <= until)
			l->sorted[n++] = l->value[i];
	return robust_sort(l->sorted, n);
}

/* Where there is no history: the window itself, the incident included, tick by tick up to now, as the paper's block has it. */
static size_t collect_window(struct past_comparison *l, const struct subject *s, size_t f)
{
	uint32_t first = l->now_from > TICKS_MAX ? l->now_from - TICKS_MAX : 0;
	size_t n = 0;

	for (uint32_t t = first > s->first ? first : s->first; t < l->now_from; t++) {
		double value = s->features[f].kind == COUNTER ? subject_mean(l->d, s, f, t, t) : subject_value(l->d, s, f, t);

		if (!isnan(value) && t > s->first) /* in its first tick it has no rate */
			l->sorted[n++] = value;
	}
	return robust_sort(l->sorted, n);
}

static double value_now(const struct past_comparison *l, const struct subject *s, size_t f)
{
	uint32_t until = subject_known_until(s, f), unknown = until < l->q->at ? l->q->at - until : 0;
	uint32_t from = l->now_from > s->first + unknown ? l->now_from - unknown : s->first;

	if (s->features[f].kind == COUNTER)
		return subject_mean(l->d, s, f, from, l->q->at - unknown);
	return subject_value(l->d, s, f, l->q->at);
}

/* How many blocks lie at least as far out on the same side. */
static uint32_t as_far(const double *sorted, size_t n, double usual, double now)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += now >= usual ? sorted[i] >= now : sorted[i] <= now;
	return count;
}

/* Address space and nice values may change without anything being used, and who waits for a signal may have nothing to do. */
static bool is_use(const struct feature *f)
{
	return !(f->flags & MAY_BE_IDLE) && f->resource != RESOURCE_OTHER && strcmp(f->name, "mem.virtual") != 0 && strcmp(f->name, "mem.data") != 0;
}

static double score_for(const struct deviation *dev)
{
	double away = fabs(dev->deviation) < 1 ? 0 : fabs(dev->deviation), score = ldexp(away / (away + FAR), -(int)(dev->rank < 30 ? dev->rank - 1 : 30));

	return is_use(dev->feature) ? score : score / 2;
}

static void compare(const struct past_comparison *l, size_t n, struct deviation *dev)
{
	dev->usual = robust_quantile(l->sorted, n, 0.5);
	dev->spread = blocks_spread(dev->feature, robust_scale(l->sorted, n), dev->usual);
	dev->deviation = (dev->observed - dev->usual) / dev->spread;
	dev->rank = as_far(l->sorted, n, dev->usual, dev->observed) + 1;
	dev->compared = (uint32_t)n + 1;
	dev->score = score_for(dev);
	if (dev->observed > l->sorted[n - 1])
		dev->flags |= FINDING_HIGHEST;
	if (l->sorted[0] == l->sorted[n - 1] &&
	    fabs(dev->observed - dev->usual) >= method_noticeable(dev->feature))
		dev->flags |= FINDING_LEFT_ONLY_VALUE;
	dev->shape = dev->feature->kind == COUNTER ? SHAPE_SPIKE : SHAPE_STEP;
}

/* A new program does it, and does not just have it. */
static bool is_news(const struct feature *f)
{
	return is_use(f) && (f->kind == COUNTER || f->resource == RESOURCE_MEMORY);
}

/* The machine was watched, and nothing of this program was there. */
static void compare_with_nothing(const struct past_comparison *l, struct deviation *dev)
{
	bool level = dev->feature->kind != COUNTER && dev->feature->resource == RESOURCE_MEMORY;

	dev->usual = 0;
	dev->spread = fmax(method_noticeable(dev->feature), level ? OF_MEMORY * l->memory : 0);
	dev->deviation = dev->observed / dev->spread;
	dev->rank = 1;
	dev->compared = l->blocks.n + 1;
	dev->flags |= FINDING_NEW | FINDING_HIGHEST;
	dev->score = is_news(dev->feature) ? score_for(dev) : 0;
}

static int describe_feature(struct past_comparison *l, const struct subject *s, const struct subject *predecessor, size_t f,
			    struct suspect *ret)
{
	struct deviation dev = {.feature = &s->features[f], .usual = NAN, .spread = NAN, .deviation = NAN};
	size_t n;

	dev.observed = value_now(l, s, f);
	if (isnan(dev.observed))
		return 0;
	n = collect(l, s, f);
	if (n < BLOCKS_MIN && predecessor && predecessor != s && subject_has(predecessor, f))
		n = collect(l, predecessor, f);
	if (n >= BLOCKS_MIN)
		compare(l, n, &dev);
	else if (s->first > l->q->train_from && l->blocks.n >= BLOCKS_MIN)
		compare_with_nothing(l, &dev);
	else if ((n = collect_window(l, s, f)) >= BLOCKS_MIN)
		compare(l, n, &dev);
	else
		dev.flags |= FINDING_NO_HISTORY;
	if (dev.score > 0)
		dev.since = l->d->ticks.v[l->now_from].wall;
	return VEC_PUSH(ret->features, dev);
}

static double score_of(const struct suspect *s)
{
	double most = 0, sum = 0;

	for (size_t i = 0; i < s->features.n; i++) {
		most = fmax(most, s->features.v[i].score);
		sum += s->features.v[i].score;
	}
	return s->features.n ? most + OTHERS * (sum - most) / (double)s->features.n : 0;
}

static int describe(struct past_comparison *l, const struct subject *s, struct suspect *ret)
{
	const struct subject *predecessor = hmap_get(&l->predecessor, hmap_hash_text(s->program), 0);
	int r = 0;

	for (size_t f = 0; r == 0 && f < s->n_features; f++)
		if (subject_has(s, f))
			r = describe_feature(l, s, predecessor, f, ret);
	ret->score = score_of(ret);
	if (r == 0 && subject_has(s, FEATURE_CPU_TIME))
		ret->score += TIE * fmax(0, value_now(l, s, FEATURE_CPU_TIME) / 1e9);
	return r;
}

static int describe_all(struct past_comparison *l, struct ranking *ret)
{
	for (size_t i = 0; i < l->d->subjects.n; i++) {
		const struct subject *s = l->d->subjects.v[i];
		struct suspect suspect = {.subject = s, .share = NAN, .members = 1};
		int r;

		if (!is_process(s) || s->first > l->q->at || s->last < l->q->at)
			continue;
		if (s->info.kind == ENTITY_KERNEL || (s->info.flags & ENTITY_IS_KERNEL_THREAD))
			suspect.kind = CULPRIT_KERNEL;
		r = describe(l, s, &suspect);
		r = r ?: VEC_PUSH(ret->suspects, suspect);
		if (r < 0) {
			suspect_free(&suspect);
			return -ENOMEM;
		}
		ret->looked_at++;
	}
	return 0;
}

static double memory_of_machine(const struct dataset *d, uint32_t at)
{
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->info.kind == ENTITY_SYSTEM && s->first <= at && s->last >= at && subject_has(s, FEATURE_SYS_MEM_TOTAL))
			return fmax(0, subject_value(d, s, FEATURE_SYS_MEM_TOTAL, at)); /* of a NaN 0 */
	}
	return 0;
}

static int prepare(struct past_comparison *l)
{
	int64_t recorded = blocks_recorded(l->d, l->q), length = recorded / BLOCKS_MAX;
	int r = blocks_cut(&l->blocks, l->d, l->q, length < BLOCK_MIN_NS ? BLOCK_MIN_NS : length);

	if (r < 0)
		return r;
	l->memory = memory_of_machine(l->d, l->q->at);
	l->value = calloc(l->blocks.n + 1, sizeof(*l->value));
	l->sorted = calloc(l->blocks.n + 1 + TICKS_MAX, sizeof(*l->sorted));
	l->now_from = l->q->at;
	while (l->now_from > 0 && l->d->ticks.v[l->q->at].boot - l->d->ticks.v[l->now_from - 1].boot < NOW_NS)
		l->now_from--;
	return l->value && l->sorted ? find_predecessors(l) : -ENOMEM;
}

static int unusual_rank(const struct dataset *d, const struct method_question *q, struct ranking *ret)
{
	struct past_comparison l = {.d = d, .q = q};
	int r = prepare(&l);

	ret->method = "unusual";
	r = r ?: describe_all(&l, ret);
	ranking_sort(ret);
	blocks_free(&l.blocks);
	hmap_free(&l.predecessor);
	FREE_ALL(l.value, l.sorted);
	return r;
}

const struct method method_unusual = {
	.name = "unusual",
	.help = "every process separately: how far from its own past, regardless of the cause",
	.rank = unusual_rank,
};
