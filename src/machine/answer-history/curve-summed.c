/* A curve of days: what the summaries of ten minutes say, and little else is read. A counter without a summary did not grow in that
 * segment; a level without one did not change: what it was is what its neighbours' have in common, or is looked up. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/vec.h"
#include "machine/answer-history/curve.h"

#define SEGMENT_NS  (600 * NS_PER_SEC)
#define ALIKE	    0.01 /* levels that differ by less are one */
#define CUT_NS	    (5 * NS_PER_SEC) /* a segment's first tick comes no later after its start */
#define UNKNOWN_MAX 16	 /* segments without summaries that are read one by one: the window's edges, the newest */

enum known { UNKNOWN, NO_ROW, ROW };

/* A segment of the window, as far as the process lived in it. */
struct stretch_of {
	int64_t from, to; /* wall ns of its first and last tick */
	uint32_t ticks;	  /* of its life */
	enum known known;
	struct segment_row row;
};

struct summed {
	struct store *store;
	const struct curve_request *q;
	const struct dataset *d;
	const struct subject *s;
	struct stretch_of *segments;
	size_t n;
	struct curve c;
	double *weight; /* of each part */
};

/* --- parts --- */

static size_t part_at(const struct summed *z, int64_t wall)
{
	int64_t part = (wall - z->c.from) / z->c.step;

	return part < 0 ? 0 : part >= (int64_t)z->c.n ? z->c.n - 1 : (size_t)part;
}

static size_t part_of(const struct summed *z, const struct stretch_of *x)
{
	return part_at(z, x->from + (x->to - x->from) / 2);
}

static void add(struct summed *z, size_t part, const struct segment_row *row)
{
	struct curve *c = &z->c;
	double weight = row->n > 0 ? row->n : 1;

	c->low[part] = fmin(c->low[part], row->low);
	c->high[part] = fmax(c->high[part], row->high);
	c->mean[part] = z->weight[part] > 0 ? (c->mean[part] * z->weight[part] + row->mean * weight) / (z->weight[part] + weight) : row->mean;
	z->weight[part] += weight;
}

static void add_level(struct summed *z, const struct stretch_of *x, double level)
{
	if (!isnan(level))
		add(z, part_of(z, x), &(struct segment_row){.n = x->ticks, .mean = level, .low = level, .high = level});
}

/* --- segments --- */

static int list_segments(struct summed *z)
{
	const struct dataset *d = z->d;
	size_t cut = !d->segments.n || d->segments.v[0] > 0; /* what is there of a segment that began before the window */

	z->n = d->segments.n + cut;
	z->segments = calloc(z->n + 1, sizeof(*z->segments));
	if (!z->segments)
		return -ENOMEM;
	for (size_t i = 0; i < z->n; i++) {
		struct stretch_of *x = &z->segments[i];
		uint32_t first = i < cut ? 0 : d->segments.v[i - cut], end = i + 1 < z->n ? d->segments.v[i + 1 - cut] : (uint32_t)d->ticks.n;

		if (first >= end) {
			x->from = x->to = i ? x[-1].to : 0;
			continue;
		}
		x->from = d->ticks.v[first].wall;
		x->to = d->ticks.v[end - 1].wall;
		first = first < z->s->first ? z->s->first : first;
		end = end > z->s->last + 1 ? z->s->last + 1 : end;
		x->ticks = end > first ? end - first : 0;
	}
	return 0;
}

/* A summary ends with its segment's last tick, to the ms. */
static struct stretch_of *find_segment(struct summed *z, int64_t to)
{
	size_t at = FIRST_WHERE(i, z->n, z->segments[i].to / NS_PER_MS >= to / NS_PER_MS);

	return at < z->n && z->segments[at].to / NS_PER_MS == to / NS_PER_MS ? &z->segments[at] : NULL;
}

static int take_history(const struct segment_history *h, void *data)
{
	struct summed *z = data;
	struct stretch_of *x = find_segment(z, h->to);

	if (!x || (x == z->segments && x->from > h->from + CUT_NS)) /* of one at the window's edge only a part is wanted */
		return 0;
	x->known = NO_ROW;
	for (size_t i = 0; i < h->rows.n; i++)
		if (dataset_subject(z->d, h->rows.v[i].entity) == z->s) {
			x->known = ROW;
			x->row = h->rows.v[i];
		}
	return 0;
}

/* --- what is read tick by tick --- */

static int load(struct summed *z, int64_t from, int64_t to, struct dataset *ret, const struct subject **ret_subject)
{
	int r = curve_load(z->store, z->q, from, to, ret);

	*ret_subject = NULL;
	for (size_t i = 0; r == 0 && i < ret->subjects.n; i++)
		if (dataset_subject(z->d, ret->subjects.v[i]->info.id) == z->s)
			*ret_subject = ret->subjects.v[i];
	return r;
}

static int add_ticks(struct summed *z, const struct stretch_of *x)
{
	_cleanup_(dataset_free) struct dataset d = {};
	const struct subject *s;
	int r = load(z, x->from, x->to, &d, &s);

	for (uint32_t t = s ? s->first : 0; r == 0 && s && t <= s->last && t < d.ticks.n; t++) {
		double value = subject_value(&d, s, z->q->feature, t);

		if (!isnan(value))
			add(z, part_at(z, d.ticks.v[t].wall), &(struct segment_row){.n = 1, .mean = value, .low = value, .high = value});
	}
	return r;
}

/* The level throughout a segment in which it did not change. */
static int read_level(struct summed *z, const struct stretch_of *x, double *ret)
{
	_cleanup_(dataset_free) struct dataset d = {};
	const struct subject *s;
	int r = load(z, x->from, x->to, &d, &s);

	*ret = r == 0 && s && s->last < d.ticks.n ? subject_value(&d, s, z->q->feature, s->last) : NAN;
	return r;
}

/* --- levels that did not change --- */

static bool are_alike(double a, double b)
{
	return fabs(a - b) <= ALIKE * fmax(fabs(a), fabs(b));
}

/* The level of all in a run whose first and last are known: where those differ it changed between two segments. */
static int fill(struct summed *z, size_t first, size_t last, double before, double after)
{
	size_t middle = first + (last - first) / 2;
	double level;
	int r;

	if (last - first <= 1 || are_alike(before, after)) {
		for (size_t i = first; i <= last; i++)
			add_level(z, &z->segments[i], i == last ? after : before);
		return 0;
	}
	r = read_level(z, &z->segments[middle], &level);
	r = r ?: fill(z, first, middle, before, level);
	return r == 0 && middle < last ? fill(z, middle + 1, last, level, after) : r;
}

/* Where it changed before and behind, it was then at what both have in common. */
static bool guess_level(const struct summed *z, size_t first, size_t last, double *ret)
{
	const struct stretch_of *before = first > 0 ? &z->segments[first - 1] : NULL, *after = last + 1 < z->n ? &z->segments[last + 1] : NULL;
	double low, high;

	if (!before || !after || before->known != ROW || after->known != ROW)
		return false;
	low = fmax(before->row.low, after->row.low);
	high = fmin(before->row.high, after->row.high);
	*ret = (low + high) / 2;
	return are_alike(low, high);
}

static bool is_drawn(const struct summed *z, size_t first, size_t last)
{
	for (size_t i = first; i <= last; i++)
		if (!(z->weight[part_of(z, &z->segments[i])] > 0))
			return false;
	return true;
}

static int add_run(struct summed *z, size_t first, size_t last)
{
	double before, after;
	int r;

	if (guess_level(z, first, last, &before))
		return fill(z, first, last, before, before);
	if (is_drawn(z, first, last))
		return 0; /* its parts have what lies next to it, which it was as well */
	r = read_level(z, &z->segments[first], &before);
	after = before;
	if (r == 0 && last > first)
		r = read_level(z, &z->segments[last], &after);
	return r == 0 ? fill(z, first, last, before, after) : r;
}

static bool is_still(const struct stretch_of *x)
{
	return x->known == NO_ROW && x->ticks;
}

static int add_still(struct summed *z, bool counter)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < z->n; i++) {
		size_t last = i;

		if (!is_still(&z->segments[i]))
			continue;
		if (counter) {
			add_level(z, &z->segments[i], 0);
			continue;
		}
		while (last + 1 < z->n && is_still(&z->segments[last + 1]))
			last++;
		r = add_run(z, i, last);
		i = last;
	}
	return r;
}

/* --- all of it --- */

static int sum_up(struct summed *z)
{
	bool counter = z->s->features[z->q->feature].kind == COUNTER;
	size_t unknown = 0;
	int r = list_segments(z);

	r = r ?: store_history(z->store, z->s->info.kind, (int)z->q->feature, z->q->from, z->q->to, take_history, z);
	for (size_t i = 0; r == 0 && i < z->n; i++)
		unknown += z->segments[i].known == UNKNOWN && z->segments[i].ticks;
	if (r == 0 && unknown > UNKNOWN_MAX)
		r = -EAGAIN;
	for (size_t i = 0; r == 0 && i < z->n; i++) {
		const struct stretch_of *x = &z->segments[i];

		if (x->known == ROW)
			add(z, part_of(z, x), &x->row);
		else if (x->known == UNKNOWN && x->ticks)
			r = add_ticks(z, x);
	}
	return r == 0 ? add_still(z, counter) : r;
}

int curve_of_summaries(struct store *store, const struct curve_request *q, struct entity_info *ret_who, struct curve *ret_curve)
{
	size_t n = (size_t)((q->to - q->from) / SEGMENT_NS);
	_cleanup_(dataset_free) struct dataset d = {};
	struct summed z = {.store = store, .q = q, .d = &d};
	unsigned damaged;
	int r = store_load_entities(store, q->from, q->to, curve_wanted, (void *)q, &d, &damaged);

	if (r == 0)
		z.s = curve_choose(&d, q);
	if (r == 0 && !z.s)
		r = -ESRCH;
	if (r == 0 && !subject_has(z.s, q->feature))
		r = -ENODATA;
	n = n < q->points ? n : q->points;
	z.weight = calloc(n + 1, sizeof(*z.weight));
	r = r ?: (z.weight ? curve_begin(&z.c, q, n) : -ENOMEM);
	r = r ?: sum_up(&z);
	r = r ?: entity_info_copy(&z.s->info, ret_who);
	if (r == 0)
		*ret_curve = z.c;
	else
		curve_free(&z.c);
	FREE_ALL(z.segments, z.weight);
	return r;
}
