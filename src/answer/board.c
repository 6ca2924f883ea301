#include "answer/board.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/vec.h"

#define NOW_NS (3 * NS_PER_SEC) /* a tick is at most so much older than the moment asked about */

int board_load(struct store *store, const struct why_request *request, struct board *ret)
{
	int r = store_load(store, request->at - request->window, request->at + NS_PER_SEC, &ret->data, &ret->damaged);

	return r < 0 ? r : board_rank(ret, request);
}

int board_extend(struct board *b, struct store *store, int64_t to, unsigned *ret_new)
{
	int64_t last = b->data.ticks.n ? b->data.ticks.v[b->data.ticks.n - 1].wall : 0;
	struct dataset part = {};
	unsigned damaged;
	size_t before = b->data.ticks.n;
	int r = store_load(store, last - NOW_NS, to, &part, &damaged);

	if (r == 0)
		r = dataset_append(&b->data, &part, last + 1, to);
	if (r == 0) {
		dataset_finish(&b->data);
		*ret_new = (unsigned)(b->data.ticks.n - before);
	}
	dataset_free(&part);
	return r;
}

/* What the default model accuses its program of. */
static double guilt_of(const struct answer *verdict, const struct subject *s)
{
	const struct ranking *r = &verdict->ranking;

	for (size_t i = 0; verdict->slow && i < r->suspects.n; i++)
		if (strcmp(r->suspects.v[i].subject->program, s->program) == 0)
			return r->suspects.v[i].score;
	return 0;
}

int board_rank(struct board *b, const struct why_request *request)
{
	struct why_request each = *request;
	struct answer verdict, everybody;
	int r;

	each.only = NULL;
	each.method = NULL;
	r = why_answer(&b->data, &each, &verdict);
	if (r < 0)
		return r;
	each.method = &method_unusual;
	r = why_answer(&b->data, &each, &everybody);
	if (r < 0) {
		answer_free(&verdict);
		return r;
	}
	for (size_t i = 0; i < everybody.ranking.suspects.n; i++)
		everybody.ranking.suspects.v[i].guilt = guilt_of(&verdict, everybody.ranking.suspects.v[i].subject);
	answer_free(&b->verdict);
	answer_free(&b->everybody);
	b->verdict = verdict;
	b->everybody = everybody;
	return 0;
}

void board_free(struct board *b)
{
	answer_free(&b->verdict);
	answer_free(&b->everybody);
	dataset_free(&b->data);
}

static bool is_called(const struct entity_info *info, const char *who)
{
	_cleanup_free_ char *label = entity_label(info);

	return (info->unit && strcmp(info->unit, who) == 0) || (info->name && strcmp(info->name, who) == 0) ||
	       (label && strcmp(label, who) == 0);
}

const struct suspect *board_find(const struct board *b, const char *who)
{
	const struct ranking *r = &b->everybody.ranking;
	uint64_t pid;
	bool number = parse_u64(who, &pid) == 0;

	for (size_t i = 0; i < r->suspects.n; i++) {
		const struct subject *s = r->suspects.v[i].subject;

		if (number ? s->info.pid == pid : is_called(&s->info, who))
			return &r->suspects.v[i];
	}
	return NULL;
}

static uint32_t first_tick_after(const struct dataset *d, int64_t wall)
{
	return (uint32_t)FIRST_WHERE(i, d->ticks.n, d->ticks.v[i].wall >= wall);
}

static void measure_part(const struct dataset *d, const struct subject *s, size_t feature, uint32_t from, uint32_t to,
			 struct curve *c, size_t i)
{
	int64_t begin = c->from + (int64_t)i * c->step;
	double sum = 0, n = 0;

	/* ticks do not come quite evenly: a part that lies between two belongs to the later one */
	if (from == to && to < d->ticks.n && d->ticks.v[to].wall - d->ticks.v[to].span <= begin)
		to++;
	c->low[i] = c->mean[i] = c->high[i] = NAN;
	for (uint32_t t = from; t < to; t++) {
		double value = subject_value(d, s, feature, t);

		if (isnan(value))
			continue;
		c->low[i] = fmin(c->low[i], value);
		c->high[i] = fmax(c->high[i], value);
		sum += value;
		n++;
	}
	if (n > 0)
		c->mean[i] = sum / n;
}

static int cut_into_parts(const struct dataset *d, const struct subject *s, const struct curve_request *q, struct curve *ret)
{
	uint32_t begin = first_tick_after(d, q->from), end = first_tick_after(d, q->to + 1);
	struct curve c = {.from = q->from};

	if (end <= begin || !subject_has(s, q->feature))
		return -ENODATA;
	c.n = end - begin < q->points ? end - begin : q->points;
	c.step = (q->to - q->from) / (int64_t)c.n;
	c.low = calloc(c.n, sizeof(*c.low));
	c.mean = calloc(c.n, sizeof(*c.mean));
	c.high = calloc(c.n, sizeof(*c.high));
	if (!c.low || !c.mean || !c.high) {
		curve_free(&c);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c.n; i++)
		measure_part(d, s, q->feature, first_tick_after(d, q->from + (int64_t)i * c.step),
			     first_tick_after(d, q->from + (int64_t)(i + 1) * c.step + (i + 1 == c.n)), &c, i);
	*ret = c;
	return 0;
}

static bool is_meant(const struct entity_info *info, const char *who)
{
	uint64_t pid;

	if (info->kind != ENTITY_PROCESS && info->kind != ENTITY_KERNEL)
		return false;
	return parse_u64(who, &pid) == 0 ? info->pid == pid : is_called(info, who);
}

static uint64_t feature_of_who(const struct entity_info *info, void *context)
{
	const struct curve_request *q = context;

	return is_meant(info, q->who) ? 1ull << q->feature : 0;
}

static const struct subject *choose(const struct dataset *d, const struct curve_request *q)
{
	const struct subject *found = NULL;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->first > s->last || !is_meant(&s->info, q->who))
			continue;
		if (d->ticks.v[s->first].wall <= q->at && d->ticks.v[s->last].wall >= q->at - NOW_NS)
			return s;
		found = s;
	}
	return found;
}

int board_curve(struct store *store, const struct curve_request *request, struct entity_info *ret_who, struct curve *ret_curve)
{
	struct curve_request q = *request;
	struct load_filter filter = {feature_of_who, &q};
	struct dataset d = {};
	const struct subject *s = NULL;
	unsigned damaged;
	int r = store_load_filtered(store, q.from, q.to, &filter, &d, &damaged);

	if (r == 0)
		s = choose(&d, &q);
	if (r == 0)
		r = s ? cut_into_parts(&d, s, &q, ret_curve) : -ESRCH;
	if (r == 0) {
		r = entity_info_copy(&s->info, ret_who);
		if (r < 0)
			curve_free(ret_curve);
	}
	dataset_free(&d);
	return r;
}

/* --- who lived when --- */

/* One that seldom changes: without any the process itself would be left out. */
static uint64_t hardly_anything(const struct entity_info *info, void *context)
{
	(void)context;
	return info->kind == ENTITY_PROCESS ? 1ull << FEATURE_THREADS : 0;
}

static int earlier_first(const void *a, const void *b)
{
	const struct life *x = a, *y = b;
	bool x_changed = x->began || x->ended, y_changed = y->began || y->ended;

	if (x_changed != y_changed)
		return x_changed ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->info.pid < y->info.pid ? -1 : x->info.pid > y->info.pid;
}

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

int board_lives(struct store *store, int64_t from, int64_t to, struct lives *ret)
{
	struct load_filter filter = {hardly_anything, NULL};
	struct dataset d = {};
	struct lives lives = {};
	unsigned damaged;
	int r = store_load_filtered(store, from, to, &filter, &d, &damaged);

	if (r == 0 && !d.ticks.n)
		r = -ENODATA;
	for (size_t i = 0; r == 0 && i < d.subjects.n; i++) {
		const struct subject *s = d.subjects.v[i];

		if (s->info.kind == ENTITY_PROCESS && s->first <= s->last && s->last < d.ticks.n)
			r = add_life(&d, s, &lives);
	}
	if (r == 0) {
		lives.from = d.ticks.v[0].wall;
		lives.to = d.ticks.v[d.ticks.n - 1].wall;
		if (lives.v.n)
			qsort(lives.v.v, lives.v.n, sizeof(*lives.v.v), earlier_first);
		*ret = lives;
	} else {
		lives_free(&lives);
	}
	dataset_free(&d);
	return r;
}
