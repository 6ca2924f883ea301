#include "analysis/span-strata.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define DAY	     (86400 * NS_PER_SEC)
#define HOURS_WIDTH  (3ll * 3600 * NS_PER_SEC) /* slots wider than this tell no hours */
#define GROUP_LEAST  20	 /* requests; smaller groups have no say in that */

/* [first, last) of all slots, and the widest. False: there are none. */
static bool time_of(const struct bucket *b, int64_t *ret_first, int64_t *ret_last, int64_t *ret_width)
{
	*ret_first = INT64_MAX;
	*ret_last = INT64_MIN;
	*ret_width = 0;
	for (size_t i = 0; i < b->groups.n; i++) {
		const struct group *g = &b->groups.v[i];
		int64_t end;

		if (!g->slots.n)
			continue;
		end = g->slots.v[g->slots.n - 1].start + g->slot_width;
		*ret_first = g->slots.v[0].start < *ret_first ? g->slots.v[0].start : *ret_first;
		*ret_last = end > *ret_last ? end : *ret_last;
		*ret_width = g->slot_width > *ret_width ? g->slot_width : *ret_width;
	}
	return *ret_width > 0;
}

struct strata strata_of_time(const struct bucket *b)
{
	int64_t first, last, width;
	struct strata s = {.n = 1};

	if (!time_of(b, &first, &last, &width))
		return s;
	s.first = first;
	s.width = (last - first + STRATA_MOST - 1) / STRATA_MOST;
	s.width = s.width > width ? s.width : width;
	s.n = (size_t)((last - first + s.width - 1) / s.width);
	return s;
}

struct strata strata_of_day(const struct bucket *b)
{
	int64_t first, last, width;
	struct strata s = {.n = 1, .of_day = true};

	if (!time_of(b, &first, &last, &width) || last - first < DAY / 2 || width > HOURS_WIDTH)
		return s;
	s.n = (size_t)(DAY / width) < STRATA_MOST ? (size_t)(DAY / width) : STRATA_MOST;
	s.width = DAY / (int64_t)s.n;
	return s;
}

static size_t stratum_of(const struct strata *s, int64_t start)
{
	int64_t at = s->of_day ? (start % DAY + DAY) % DAY : start - s->first;
	size_t stratum = s->width > 0 ? (size_t)(at / s->width) : 0;

	return stratum < s->n ? stratum : s->n - 1;
}

void strata_add(const struct strata *s, const struct group *g, double *counts, double *sums)
{
	for (size_t i = 0; i < g->slots.n; i++) {
		const struct moments *m = &g->slots.v[i].total;
		size_t stratum = stratum_of(s, g->slots.v[i].start);

		counts[stratum] += moments_count(m);
		sums[stratum] += m->count ? moments_count(m) * moments_mean(m) : 0;
	}
}

double strata_shared(const struct strata *s, const double *counts, const double *others)
{
	double all = 0, shared = 0;

	for (size_t i = 0; i < s->n; i++) {
		all += counts[i];
		shared += others[i] >= STRATUM_LEAST ? counts[i] : 0;
	}
	return all > 0 ? shared / all : 0;
}

/* Has every group enough of its requests where others have some? */
static bool all_share(const struct strata *s, const struct bucket *b, const double *counts)
{
	for (size_t i = 0; i < b->groups.n; i++) {
		double others[STRATA_MOST] = {};

		if (moments_effective(&b->groups.v[i].total) < GROUP_LEAST)
			continue;
		for (size_t j = 0; j < b->groups.n; j++)
			for (size_t k = 0; j != i && k < s->n; k++)
				others[k] += counts[j * s->n + k];
		if (strata_shared(s, counts + i * s->n, others) < STRATA_SHARED)
			return false;
	}
	return true;
}

int strata_level(const struct bucket *b, struct version_group *groups)
{
	const struct strata tried[] = {strata_of_time(b), strata_of_day(b)};
	size_t n = b->groups.n;

	for (size_t t = 0; n > 1 && t < ARRAY_SIZE(tried); t++) {
		const struct strata *s = &tried[t];
		_cleanup_free_ double *counts = calloc(n * s->n, sizeof(*counts)), *sums = calloc(n * s->n, sizeof(*sums));

		if (!counts || !sums)
			return -ENOMEM;
		for (size_t i = 0; i < n; i++)
			strata_add(s, &b->groups.v[i], counts + i * s->n, sums + i * s->n);
		if (s->n > 1 && all_share(s, b, counts))
			return groups_level(groups, n, counts, sums, s->n) < 0 ? -ENOMEM : 1;
	}
	return 0;
}
