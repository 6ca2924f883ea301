#include "analysis/span/span-since.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/span/span-strata.h"
#include "base/data/cleanup.h"
#include "base/data/clock.h"
#include "stat/change.h"

#define WINDOWS_LEAST 4
#define WINDOWS_MOST  128
#define WINDOW_LEAST  20 /* requests, on average: of fewer a single long one makes a window */
#define DAY	      (86400 * NS_PER_SEC)

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void hold_against(struct span_since *s, int64_t first, int64_t last)
{
	int64_t end = s->until ? s->until : last, length = end - s->since;

	s->from = s->since;
	s->to = s->until;
	s->against_from = 0;
	s->against_to = s->since;
	if (s->since - DAY >= first) {
		s->to = length > DAY ? s->since + length / DAY * DAY : s->until;
		s->against_from = s->since - DAY;
		s->against_to = s->against_from + earlier(length, DAY);
	} else if (end - DAY > first + (s->since - first) / 2) {
		/* it began on the first day: the hours before it, a day later */
		s->from = first + DAY;
		s->to = earlier(s->since + DAY, end);
		s->against_from = first;
		s->against_to = s->to - DAY;
	}
}

/* How many windows the bucket's time is looked at in; 0 = it has too few requests. *ret_width: a multiple of the slots'. */
static size_t windows_of(const struct bucket *b, int64_t *ret_first, int64_t *ret_last, int64_t *ret_width)
{
	double requests = 0, most;
	int64_t slots, step;

	if (!strata_times(b, ret_first, ret_last, ret_width))
		return 0;
	for (size_t i = 0; i < b->groups.n; i++)
		requests += moments_effective(&b->groups.v[i].total);
	most = fmin(requests / WINDOW_LEAST, WINDOWS_MOST);
	if (most < WINDOWS_LEAST)
		return 0;
	slots = (*ret_last - *ret_first + *ret_width - 1) / *ret_width;
	step = (int64_t)ceil((double)slots / floor(most));
	*ret_width *= step;
	return (size_t)((slots + step - 1) / step);
}

bool span_since_find(const struct bucket *b, double level, struct span_since *ret)
{
	int64_t first, last, width;
	size_t n = windows_of(b, &first, &last, &width);
	_cleanup_free_ struct moments *sums = n >= WINDOWS_LEAST ? calloc(n, sizeof(*sums)) : NULL;
	struct change_point change;
	_cleanup_free_ struct window *windows = sums ? calloc(n, sizeof(*windows)) : NULL;

	if (!windows)
		return false;
	for (size_t i = 0; i < b->groups.n; i++)
		for (size_t k = 0; k < b->groups.v[i].slots.n; k++)
			moments_merge(&sums[(b->groups.v[i].slots.v[k].start - first) / width], &b->groups.v[i].slots.v[k].total);
	for (size_t i = 0; i < n; i++)
		if (sums[i].count)
			windows[i] = (struct window){moments_effective(&sums[i]), moments_mean(&sums[i]), moments_variance(&sums[i])};
	if (!change_find(windows, n, (double)DAY / (double)width, level, &change) ||
	    fabs(change.during / change.before - 1) < SINCE_LEAST)
		return false;
	*ret = (struct span_since){.before = change.before, .during = change.during, .p = change.p};
	ret->since = first + (int64_t)change.at * width;
	ret->until = change.until < n ? first + (int64_t)change.until * width : 0;
	hold_against(ret, first, last);
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
	return count * (s->during - s->before);
}

bool span_since_worst(const struct forest *f, const struct bucket_choice *choice, struct span_since *ret)
{
	double worst = 0;
	size_t n = 0;

	for (size_t i = 0; i < f->buckets.n; i++)
		n += bucket_is_chosen(choice, f, &f->buckets.v[i]);
	for (size_t i = 0; i < f->buckets.n; i++) {
		const struct bucket *b = &f->buckets.v[i];
		struct span_since one;

		if (!bucket_is_chosen(choice, f, b) || !span_since_find(b, SINCE_LEVEL / (double)n, &one) || cost_of(b, &one) <= worst)
			continue;
		worst = cost_of(b, &one);
		*ret = one;
	}
	return worst > 0;
}
