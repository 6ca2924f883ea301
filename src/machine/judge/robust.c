/* Unusual, and in the way: the default model, which joins that with what victims waited for.
 *
 * The unit of judgement is the *program* (exe + unit): what all its processes do together, so that history outlives
 * restarts and many small processes count as one. The time before the trouble is cut into blocks half as long as
 * the trouble (so that an earlier one of the same length fills at least one); a program's usual is their distribution.
 *
 *   usual, spread   median and IQR / 1.349 of the blocks, spread never below what a person could notice
 *   episodes        how often before it did at least 70 % as much beyond what it always does: a nightly backup is big but usual
 *   excess          what it uses beyond its usual, discounted by 1 / (1 + episodes)
 *   at its age      a program that has just begun is compared with its earlier starts at the same age instead (of the
 *                   same executable elsewhere, where it has none): starting is heavy for nearly everybody
 *   guilt           of the use with the most: shortage(resource) x excess / what all programs use of it beyond their usual x surprise
 *   over            who has stopped while another one goes on is hardly why it lasts (ranking_weigh_recency())
 *
 * Unusual alone is not guilty: without a shortage only what stands far out (leaks of handles, threads, memory) is
 * reported, and weakly. Several features of one resource are one piece of evidence: only the strongest counts.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "machine/judge/robust.h"
#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "machine/model/name-limit.h"

const struct use uses[USES] = {
	{BOTTLENECK_CPU, FEATURE_CPU_TIME, false, 0, 0.02, false},
	{BOTTLENECK_CPU, FEATURE_CHILDREN_CPU, false, 0, 0.02, false},
	{BOTTLENECK_DISK, FEATURE_IO_READ_BYTES, false, 0, 0.02, false},
	{BOTTLENECK_DISK, FEATURE_IO_WRITE_BYTES, false, 0, 0.02, false},
	{BOTTLENECK_MEMORY, FEATURE_MEM_ANON, true, 0, 0.05, false},
	{BOTTLENECK_MEMORY, FEATURE_MEM_SHMEM, true, 0, 0.05, false},
	{BOTTLENECK_MEMORY, FEATURE_MEM_LOCKED, true, 0, 0.05, false},
	{BOTTLENECK_MEMORY, FEATURE_DELAY_RECLAIM, false, 0, 0, false},
	{BOTTLENECK_NETWORK, FEATURE_NET_RX_BYTES, false, 0, 0.01, false},
	{BOTTLENECK_NETWORK, FEATURE_NET_TX_BYTES, false, 0, 0.01, false},
	{BOTTLENECK_QUOTA, FEATURE_WAIT_QUOTA, false, 0, 0, true},
	{BOTTLENECK_REMOTE, FEATURE_WAIT_NETWORK, false, 1e9, 0.05, true},
	{BOTTLENECK_NONE, FEATURE_HANDLES_FILES, false, 1000, 0.05, false},
	{BOTTLENECK_NONE, FEATURE_THREADS, false, 300, 0.05, false},
};

/* The process of which these short-lived ones are copies; NULL = another program started them. */
static const struct subject *copied_from(const struct robust *r, const struct subject *s)
{
	for (size_t i = r->d->subjects.n; i--;) {
		const struct subject *up = r->d->subjects.v[i];

		if (up->info.kind == ENTITY_PROCESS && up->info.pid == s->info.parent && up->first <= s->last)
			return up->info.name && strcmp(up->info.name, s->info.name) == 0 ? up : NULL;
	}
	return NULL;
}

/* Only the name is known of short-lived processes: it is that of a program some process of which lived longer. The name of an interpreter is
 * that of all scripts: there only a copy is its parent's. */
static struct program *program_named_alike(const struct robust *r, const struct subject *s)
{
	const char *name = s->info.name ? s->info.name : "";
	const struct subject *up;

	if (!entity_is_interpreter(name))
		return hmap_get(&r->by_name, hmap_hash_text(name), 0);
	up = copied_from(r, s);
	return up ? hmap_get(&r->by_key, hmap_hash_text(up->program), 0) : NULL;
}

struct program *robust_program(struct robust *r, const struct subject *s)
{
	uint64_t key = hmap_hash_text(s->program), name = hmap_hash_text(s->info.name ? s->info.name : "");
	bool short_lived = s->info.kind == ENTITY_SHORT_LIVED;
	struct program *p = short_lived ? program_named_alike(r, s) : hmap_get(&r->by_key, key, 0);

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
		p = robust_program(r, s);
		if (!p || VEC_PUSH(p->members, s) < 0)
			return -ENOMEM;
		p->there |= s->last >= r->q->focus;
	}
	return 0;
}

static int gather_programs(struct robust *r)
{
	int result = gather_kind(r, ENTITY_PROCESS);

	result = result ?: gather_kind(r, ENTITY_KERNEL);
	return result == 0 ? gather_kind(r, ENTITY_SHORT_LIVED) : result;
}

static void robust_free(struct robust *r)
{
	VEC_FREE_EACH(r->programs, VEC_FREE((*each)->members); free((*each)->startup); free(*each));
	robust_jobs_free(r);
	VEC_FREE(r->verdicts);
	hmap_free(&r->by_key);
	hmap_free(&r->by_name);
	blocks_free(&r->blocks);
	FREE_ALL(r->sum, r->one, r->sorted, r->news);
}

ORDER(by_culprit_score, struct verdict, DESCENDING(suspect.score) ?: ASCENDING(suspect.subject->info.id))

static int judge_all(struct robust *r, struct ranking *ret)
{
	for (size_t i = 0; i < r->programs.n; i++) {
		struct verdict v = {.suspect.share = NAN};

		if (!r->programs.v[i]->there)
			continue;
		ret->looked_at++;
		if (robust_program_score(r, r->programs.v[i], &v) && VEC_PUSH(r->verdicts, v) < 0)
			return -ENOMEM;
	}
	if (robust_jobs_score(r) < 0 || robust_attribute_scores(r) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->verdicts.n; i++)
		if (r->verdicts.v[i].suspect.score > 0) /* all of its guilt may be another one's */
			r->verdicts.v[i].suspect.score = evidence_score(r->verdicts.v[i].suspect.factors);
	VEC_SORT(r->verdicts, by_culprit_score);
	return 0;
}

static bool has_a_name(const struct suspect *s, const void *unused)
{
	(void)unused;
	return !name_limit_is_sum(&s->subject->info);
}

/* Programs that are recorded as one, without their names, cannot be named as culprit or victim: what they have of the odds is of what is
 * not listed. */
static void set_others_aside(struct ranking *ret)
{
	for (size_t i = 0; i < ret->suspects.n; i++)
		ret->others += has_a_name(&ret->suspects.v[i], NULL) ? 0 : ret->suspects.v[i].score;
	suspects_keep(ret->suspects.v, &ret->suspects.n, has_a_name, NULL);
	suspects_keep(ret->victims.v, &ret->victims.n, has_a_name, NULL);
}

static int rank_all(struct robust *r, struct ranking *ret)
{
	int result = gather_programs(r);

	result = result ?: robust_jobs_gather(r);
	result = result ?: robust_blocks_make(r);
	if (result < 0)
		return result;
	result = robust_weigh_news(r);
	for (int b = 0; b < BOTTLENECK_COUNT; b++)
		r->shortage[b] = robust_shortage(r, (enum bottleneck)b);
	robust_find_short_memory(r);
	robust_weigh_disk(r);
	robust_sum_totals(r);
	robust_sum_growth(r);
	robust_find_use(r);
	r->shortage[BOTTLENECK_NETWORK] = robust_shortage_of_network(r) * r->in_use[BOTTLENECK_NETWORK];
	robust_find_lost(r);
	result = result ?: robust_find_victims(r, ret) ?: robust_find_busiest(r, &ret->busiest);
	robust_weigh_shortage(r);
	ret->slowdown = r->slowdown = robust_slowdown(r);
	result = result ?: judge_all(r, ret);
	result = result ?: robust_describe_verdicts(r, ret);
	set_others_aside(ret);
	ranking_weigh_recency(ret, false);
	ranking_sort(ret);
	robust_explain_waiting(r, ret);
	while (ret->victims.n > SUSPECTS_MAX)
		suspect_free(&ret->victims.v[--ret->victims.n]);
	for (size_t i = 0; i < ret->victims.n; i++)
		robust_finish_suspect(r, &ret->victims.v[i]);
	return result;
}

static int blame_rank(const struct dataset *d, const struct method_question *q, struct ranking *ret)
{
	struct robust r = {.d = d, .q = q};
	int result;

	ret->method = method_blame.name;
	for (uint32_t t = q->focus; t <= q->at; t++)
		r.focus_seconds += (double)d->ticks.v[t].span / 1e9;
	if (r.focus_seconds <= 0)
		return 0;
	result = rank_all(&r, ret);
	robust_free(&r);
	return result;
}

const struct method method_blame = {
	.name = "blame",
	.help = "beyond its baseline, of the resource that is short, and what the victims waited for: contention, locks, limits (default)",
	.features = FEATURES_READ_FIRST, /* what `uses` and `delays` name */
	.rank = blame_rank,
};
