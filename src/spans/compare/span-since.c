#include "spans/compare/span-since.h"

#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/stat/change.h"
#include "spans/compare/span-pool.h"
#include "spans/compare/span-strata.h"

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

/* A bucket's time in equal windows. */
struct series {
	int64_t first, last, width; /* wall ns */
	size_t n;
	struct window *v;
};

static bool series_of_durations(const struct bucket *b, struct series *s)
{
	_cleanup_free_ struct moments *sums = calloc(s->n, sizeof(*sums));

	for (size_t i = 0; sums && i < b->groups.n; i++)
		for (size_t k = 0; k < b->groups.v[i].slots.n; k++)
			moments_merge(&sums[(b->groups.v[i].slots.v[k].start - s->first) / s->width], &b->groups.v[i].slots.v[k].total);
	for (size_t i = 0; sums && i < s->n; i++)
		if (sums[i].count)
			s->v[i] = (struct window){moments_effective(&sums[i]), moments_mean(&sums[i]), moments_variance(&sums[i])};
	return sums;
}

/* Shares of the sampled requests that failed. False where none did. */
static bool series_of_failures(const struct bucket *b, struct series *s)
{
	double failed = 0, requests = 0, share;

	for (size_t i = 0; i < b->groups.n; i++)
		VEC_EACH(r, b->groups.v[i].requests) {
			struct window *w;

			if (r->start < s->first || r->start >= s->last)
				continue; /* of a damaged store */
			w = &s->v[(r->start - s->first) / s->width];
			w->count++;
			w->mean += (r->error - w->mean) / w->count;
			failed += r->error;
			requests++;
		}
	share = requests > 0 ? failed / requests : 0;
	for (size_t i = 0; i < s->n; i++)
		s->v[i].variance = share * (1 - share);
	return share > 0;
}

static bool find(const struct bucket *b, double level, bool failing, struct span_since *ret)
{
	struct series s = {};
	_cleanup_free_ struct window *windows = NULL;
	struct change_point change;

	s.n = windows_of(b, &s.first, &s.last, &s.width);
	s.v = windows = s.n >= WINDOWS_LEAST ? calloc(s.n, sizeof(*windows)) : NULL;
	if (!windows || !(failing ? series_of_failures(b, &s) : series_of_durations(b, &s)) ||
	    !change_find(windows, s.n, (double)DAY / (double)s.width, level, &change))
		return false;
	*ret = (struct span_since){.before = change.before, .during = change.during, .p = change.p, .failing = failing};
	ret->since = s.first + (int64_t)change.at * s.width;
	ret->until = change.until < s.n ? s.first + (int64_t)change.until * s.width : 0;
	hold_against(ret, s.first, s.last);
	return true;
}

bool span_since_find(const struct bucket *b, double level, struct span_since *ret)
{
	struct span_since one;

	if (!find(b, level, false, &one) || fabs(one.during / one.before - 1) < SINCE_LEAST)
		return false;
	*ret = one;
	return true;
}

bool span_since_find_failures(const struct bucket *b, double level, struct span_since *ret)
{
	struct span_since one;

	if (!find(b, level, true, &one) || !span_pool_is_much_more(one.before, one.during, POOL_LEAST))
		return false;
	*ret = one;
	return true;
}

/* ns that all its requests together took longer, or how many of them more failed. */
static double cost_of(const struct bucket *b, const struct span_since *s)
{
	double count = 0;

	for (size_t i = 0; i < b->groups.n; i++)
		VEC_EACH(slot, b->groups.v[i].slots)
			if (slot->start >= s->since && (!s->until || slot->start < s->until))
				count += moments_count(&slot->total);
	return count * (s->during - s->before);
}

typedef bool (*since_fn)(const struct bucket *b, double level, struct span_since *ret);

static bool worst_of(const struct forest *f, const struct bucket_choice *choice, since_fn find_change, struct span_since *ret)
{
	double worst = 0;
	size_t n = 0;

	for (size_t i = 0; i < f->buckets.n; i++)
		n += bucket_is_chosen(choice, f, &f->buckets.v[i]);
	VEC_EACH(b, f->buckets) {
		struct span_since one;

		if (!bucket_is_chosen(choice, f, b) || !find_change(b, SINCE_LEVEL / (double)n, &one) || cost_of(b, &one) <= worst)
			continue;
		worst = cost_of(b, &one);
		*ret = one;
	}
	return worst > 0;
}

bool span_since_worst(const struct forest *f, const struct bucket_choice *choice, struct span_since *ret)
{
	return worst_of(f, choice, span_since_find_failures, ret) || worst_of(f, choice, span_since_find, ret);
}
