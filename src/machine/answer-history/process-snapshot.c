#include "machine/answer-history/process-snapshot.h"

#include <errno.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "machine/answer-history/curve.h"

#define NOW_NS (3 * NS_PER_SEC) /* a tick is at most so much older than the moment asked about */

int process_snapshot_load(struct store *store, const struct why_request *request, int64_t listed, struct process_snapshot *ret)
{
	struct why_request settled = *request;
	_cleanup_(why_data_free) struct why_data baseline = {};
	struct extract *part = NULL;
	int64_t from;
	int r = store_extent(store, &ret->recorded_from, &ret->recorded_to);

	if (r == 0 && request->now && ret->recorded_to && ret->recorded_to < request->at)
		settled.at = ret->recorded_to; /* as why_settle() does, which the verdict comes from */
	from = settled.at - listed;
	if (r == 0 && request->recorded)
		r = store_extend_window(store, settled.at, listed, &from);
	if (r == 0 && request->baseline != BASELINE_WINDOW) {
		r = why_settle(store, &settled, &baseline);
		from = settled.at - settled.window;
	}
	r = r ?: why_extract(store, &settled, from, settled.at, &part);
	r = r ?: extract_load(part, NULL, &ret->data, &ret->damaged);
	extract_close(part);
	settled.marks = request->marks;
	settled.n_marks = request->n_marks;
	return r < 0 ? r : process_snapshot_rank(ret, store, &settled);
}

int process_snapshot_extend(struct process_snapshot *b, struct store *store, int64_t to, unsigned *ret_new)
{
	int64_t last = b->data.ticks.n ? b->data.ticks.v[b->data.ticks.n - 1].wall : 0;
	_cleanup_(dataset_free) struct dataset part = {};
	unsigned damaged;
	size_t before = b->data.ticks.n;
	int r = store_load(store, last - NOW_NS, to, &part, &damaged);

	r = r ?: dataset_append(&b->data, &part, last + 1, to);
	if (r == 0) {
		dataset_finish(&b->data);
		*ret_new = (unsigned)(b->data.ticks.n - before);
	}
	return r;
}

static bool is_same(const struct subject *a, const struct subject *b)
{
	return a->info.kind == b->info.kind && a->info.pid == b->info.pid && a->info.start == b->info.start;
}

/* The verdict is of a dataset of its own, which reaches further back. */
static bool is_of(const struct suspect *accused, const struct subject *s)
{
	for (size_t i = 0; i < accused->together.n; i++)
		if (is_same(accused->together.v[i], s))
			return true;
	return !accused->together.n && strcmp(accused->subject->program, s->program) == 0;
}

/* What the default model accuses its program of, or its job. */
static double culprit_score_of(const struct answer *verdict, const struct subject *s)
{
	const struct ranking *r = &verdict->ranking;

	for (size_t i = 0; verdict->slow && i < r->suspects.n; i++)
		if (is_of(&r->suspects.v[i], s))
			return suspect_matters(r, &r->suspects.v[i]) ? r->suspects.v[i].score : 0;
	return 0;
}

static void forget_answers(struct process_snapshot *b)
{
	answer_free(&b->verdict);
	answer_free(&b->everybody);
	dataset_free(&b->verdict_data);
	dataset_free(&b->verdict_more);
}

ORDER(most_guilty_first, struct suspect, DESCENDING(guilt) ?: DESCENDING(score))

/* How unusual everybody is is the order unless a model was asked for: the paper's, or the culprits first. */
int process_snapshot_rank(struct process_snapshot *b, struct store *store, const struct why_request *request)
{
	struct why_request each = *request;
	_cleanup_(why_data_free) struct why_data data = {};
	struct answer verdict, everybody;
	int r = why_settle(store, &each, &data);

	each.only = NULL;
	each.method = NULL;
	each.block = false;
	r = r ?: why_from_store(store, &each, &data, &verdict);
	if (r < 0)
		return r;
	each.block = request->block;
	each.method = request->method == &method_gaussian ? request->method : &method_unusual;
	each.trace = NULL; /* what is unusual of everybody is read from counters */
	r = why_answer(&b->data, &each, &everybody);
	if (r < 0) {
		answer_free(&verdict);
		return r;
	}
	for (size_t i = 0; i < everybody.ranking.suspects.n; i++)
		everybody.ranking.suspects.v[i].guilt = culprit_score_of(&verdict, everybody.ranking.suspects.v[i].subject);
	if (request->method == &method_blame) {
		everybody.ranking.method = method_blame.name;
		VEC_SORT(everybody.ranking.suspects, most_guilty_first);
	}
	forget_answers(b);
	b->verdict = verdict;
	b->everybody = everybody;
	b->verdict_data = data.first;
	b->verdict_more = data.more;
	data.first = data.more = (struct dataset){};
	return 0;
}

void process_snapshot_free(struct process_snapshot *b)
{
	forget_answers(b);
	dataset_free(&b->data);
}

const struct suspect *process_snapshot_find(const struct process_snapshot *b, const char *who)
{
	const struct ranking *r = &b->everybody.ranking;

	for (size_t i = 0; i < r->suspects.n; i++) {
		if (entity_matches(&r->suspects.v[i].subject->info, who))
			return &r->suspects.v[i];
	}
	return NULL;
}

/* --- who lived when --- */

static feature_set of_processes(const struct entity_info *info, void *context)
{
	(void)context;
	return info->kind == ENTITY_PROCESS ? UINT64_MAX : 0;
}

/* When it began or ended last; 0 = it did neither. */
static int64_t last_change(const struct life *l)
{
	return l->ended ? l->to : l->began ? l->from : 0;
}

ORDER(latest_change_first, struct life, CMP(last_change(b), last_change(a)) ?: ASCENDING(info.pid))

static int add_life(const struct dataset *d, const struct subject *s, struct lives *ret)
{
	struct life life = {.from = d->ticks.v[s->first].wall, .to = d->ticks.v[s->last].wall, .began = s->first > 0,
			    .ended = s->ended || s->last + 1 < d->ticks.n};
	int r = entity_info_copy(&s->info, &life.info);

	if (r == 0) {
		r = VEC_PUSH(ret->v, life);
		if (r < 0)
			entity_info_free(&life.info);
	}
	ret->throughout += r == 0 && !life.began && !life.ended;
	return r;
}

int process_snapshot_lives(struct store *store, const struct viewer *viewer, int64_t from, int64_t to, struct lives *ret)
{
	_cleanup_(dataset_free) struct dataset d = {};
	struct lives lives = {};
	unsigned damaged;
	int r = store_load_entities(store, from, to, of_processes, NULL, &d, &damaged);

	if (r == 0 && !d.ticks.n)
		r = -ENODATA;
	r = r ?: dataset_hide(&d, viewer);
	for (size_t i = 0; r == 0 && i < d.subjects.n; i++) {
		const struct subject *s = d.subjects.v[i];

		if (s->info.kind == ENTITY_PROCESS && s->first <= s->last && s->last < d.ticks.n)
			r = add_life(&d, s, &lives);
	}
	if (r == 0) {
		lives.from = d.ticks.v[0].wall;
		lives.to = d.ticks.v[d.ticks.n - 1].wall;
		VEC_SORT(lives.v, latest_change_first);
		*ret = lives;
	} else {
		lives_free(&lives);
	}
	return r;
}
