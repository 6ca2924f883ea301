#include "machine/answer-history/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/str.h"
#include "lib/data/vec.h"

#define WIDE_NS (86400 * NS_PER_SEC)
#define NOW_NS	(3 * NS_PER_SEC) /* a tick is at most so much older than the moment asked about */

int curve_begin(struct curve *c, const struct curve_request *q, size_t n)
{
	*c = (struct curve){.from = q->from, .n = n, .step = (q->to - q->from) / (int64_t)n};
	c->low = calloc(n, sizeof(*c->low));
	c->mean = calloc(n, sizeof(*c->mean));
	c->high = calloc(n, sizeof(*c->high));
	if (!c->low || !c->mean || !c->high) {
		curve_free(c);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		c->low[i] = c->mean[i] = c->high[i] = NAN;
	return 0;
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

/* As many parts as ticks would fill the time: where nothing was recorded for a while, the others are no coarser for it. */
static size_t parts_of(const struct dataset *d, const struct curve_request *q, uint32_t begin, uint32_t end)
{
	int64_t shortest = q->to - q->from;
	size_t n;

	for (uint32_t t = begin; t < end; t++)
		if (d->ticks.v[t].span > 0 && d->ticks.v[t].span < shortest)
			shortest = d->ticks.v[t].span;
	n = shortest > 0 ? (size_t)((q->to - q->from) / shortest) : 1;
	n = n > end - begin ? n : end - begin;
	return n < q->points ? n : q->points;
}

static int cut_into_parts(const struct dataset *d, const struct subject *s, const struct curve_request *q, struct curve *ret)
{
	uint32_t begin = first_tick_after(d, q->from), end = first_tick_after(d, q->to + 1);
	struct curve c;

	if (end <= begin || !subject_has(s, q->feature))
		return -ENODATA;
	if (curve_begin(&c, q, parts_of(d, q, begin, end)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < c.n; i++)
		measure_part(d, s, q->feature, first_tick_after(d, q->from + (int64_t)i * c.step),
			     first_tick_after(d, q->from + (int64_t)(i + 1) * c.step + (i + 1 == c.n)), &c, i);
	*ret = c;
	return 0;
}

static bool is_meant(const struct entity_info *info, const char *who)
{
	return (info->kind == ENTITY_PROCESS || info->kind == ENTITY_KERNEL) && entity_matches(info, who);
}

feature_set curve_wanted(const struct entity_info *info, void *context)
{
	const struct curve_request *q = context;

	return is_meant(info, q->who) && entity_is_visible(info, &q->viewer) ? FEATURE_BIT(q->feature) : 0;
}

int curve_load(struct store *store, const struct curve_request *q, int64_t from, int64_t to, struct dataset *into)
{
	const feature_set most[ENTITY_KIND_END] = {[ENTITY_PROCESS] = FEATURE_BIT(q->feature), [ENTITY_KERNEL] = FEATURE_BIT(q->feature)};
	struct load_filter filter = {curve_wanted, (void *)q, most};
	unsigned damaged;

	return store_load_filtered(store, from, to, &filter, into, &damaged);
}

const struct subject *curve_choose(const struct dataset *d, const struct curve_request *q)
{
	const struct subject *found = NULL;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->first > s->last || !is_meant(&s->info, q->who) || !entity_is_visible(&s->info, &q->viewer))
			continue;
		if (d->ticks.v[s->first].wall <= q->at && d->ticks.v[s->last].wall >= q->at - NOW_NS)
			return s;
		found = s;
	}
	return found;
}

static int read_ticks(struct store *store, const struct curve_request *q, struct entity_info *ret_who, struct curve *ret_curve)
{
	_cleanup_(dataset_free) struct dataset d = {};
	const struct subject *s = NULL;
	int r = curve_load(store, q, q->from, q->to, &d);

	if (r == 0)
		s = curve_choose(&d, q);
	r = r ?: (s ? cut_into_parts(&d, s, q, ret_curve) : -ESRCH);
	if (r == 0) {
		r = entity_info_copy(&s->info, ret_who);
		if (r < 0)
			curve_free(ret_curve);
	}
	return r;
}

int curve_read(struct store *store, const struct curve_request *request, struct entity_info *ret_who, struct curve *ret_curve)
{
	int r = request->to - request->from > WIDE_NS ? curve_of_summaries(store, request, ret_who, ret_curve) : -EAGAIN;

	if (r == -EAGAIN)
		r = read_ticks(store, request, ret_who, ret_curve);
	if (r == 0)
		entity_hide(ret_who, &request->viewer);
	return r;
}
