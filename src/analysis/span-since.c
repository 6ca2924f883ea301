#include "analysis/span-since.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define WINDOWS_LEAST 4
#define WINDOWS_MOST  100000
#define DAY	      (86400 * NS_PER_SEC)

/* The time from the bucket's first slot to the end of its last, in steps of its widest slots. */
static size_t span_of(const struct bucket *b, int64_t *ret_first, int64_t *ret_width)
{
	int64_t first = INT64_MAX, last = INT64_MIN, width = 0;

	for (size_t i = 0; i < b->groups.n; i++) {
		const struct group *g = &b->groups.v[i];

		if (!g->slots.n)
			continue;
		width = g->slot_width > width ? g->slot_width : width;
		first = g->slots.v[0].start < first ? g->slots.v[0].start : first;
		last = g->slots.v[g->slots.n - 1].start > last ? g->slots.v[g->slots.n - 1].start : last;
	}
	*ret_first = first;
	*ret_width = width;
	return width > 0 ? (size_t)((last - first) / width) + 1 : 0;
}

static void hold_against(struct span_since *s, int64_t first, int64_t last)
{
	int64_t length = (s->until ? s->until : last) - s->since;

	s->against_from = 0;
	s->against_to = s->since;
	if (s->since - DAY < first)
		return;
	s->against_from = s->since - DAY;
	s->against_to = s->against_from + (length < DAY ? length : DAY);
}

bool span_since_find(const struct bucket *b, double level, struct span_since *ret)
{
	int64_t first, width;
	size_t n = span_of(b, &first, &width);
	_cleanup_free_ struct moments *sums = n >= WINDOWS_LEAST && n <= WINDOWS_MOST ? calloc(n, sizeof(*sums)) : NULL;
	_cleanup_free_ struct window *windows = sums ? calloc(n, sizeof(*windows)) : NULL;

	if (!windows)
		return false;
	for (size_t i = 0; i < b->groups.n; i++)
		for (size_t k = 0; k < b->groups.v[i].slots.n; k++)
			moments_merge(&sums[(b->groups.v[i].slots.v[k].start - first) / width], &b->groups.v[i].slots.v[k].total);
	for (size_t i = 0; i < n; i++)
		if (sums[i].count)
			windows[i] = (struct window){moments_effective(&sums[i]), moments_mean(&sums[i]), moments_variance(&sums[i])};
	if (!change_find(windows, n, (double)DAY / (double)width, level, &ret->change) ||
	    fabs(ret->change.during / ret->change.before - 1) < SINCE_LEAST)
		return false;
	ret->since = first + (int64_t)ret->change.at * width;
	ret->until = ret->change.until < n ? first + (int64_t)ret->change.until * width : 0;
	hold_against(ret, first, first + (int64_t)n * width);
	return true;
}

/* ns that all its requests together took longer. */
static double cost_of(const struct bucket *b, const struct span_since *s)
{
	double count = 0;

	for (size_t i = 0; i < b->groups.n; i++)
		for (size_t k = 0; k < b->groups.v[i].slots.n; k++) {
			const struct slot *slot = &b->groups.v[i].slots.v[k];

			if (slot->start >= s->since && (!s->until || slot->start < s->until))
				count += moments_count(&slot->total);
		}
	return count * (s->change.during - s->change.before);
}

bool span_since_worst(const struct forest *f, bool (*selected)(const struct forest *f, const struct bucket *b), struct span_since *ret)
{
	double worst = 0;
	size_t n = 0;

	for (size_t i = 0; i < f->buckets.n; i++)
		n += !selected || selected(f, &f->buckets.v[i]);
	for (size_t i = 0; i < f->buckets.n; i++) {
		const struct bucket *b = &f->buckets.v[i];
		struct span_since one;

		if ((selected && !selected(f, b)) || !span_since_find(b, SINCE_LEVEL / (double)n, &one) || cost_of(b, &one) <= worst)
			continue;
		worst = cost_of(b, &one);
		*ret = one;
	}
	return worst > 0;
}
