#include "spans/compare/span-strata.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/vec.h"

#define DAY	       (86400 * NS_PER_SEC)
#define HOURS	       24
#define HOURS_WIDTH    (3ll * 3600 * NS_PER_SEC) /* what is wider than this tells no hours */
#define STRATUM_WANTED 20 /* requests of all versions together */
#define TIMES_DIFFER   2  /* times as much as chance */
#define GROUP_LEAST    20 /* requests; smaller groups have no say in whether enough is shared */

bool strata_times(const struct bucket *b, int64_t *ret_first, int64_t *ret_last, int64_t *ret_width)
{
	*ret_first = INT64_MAX;
	*ret_last = INT64_MIN;
	*ret_width = 0;
	VEC_EACH(g, b->groups) {
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

static struct strata parts_of_time(const struct bucket *b, bool brief)
{
	int64_t first, last, width;
	double requests = 0;
	struct strata s = {.n = 1};
	size_t most;

	if (!strata_times(b, &first, &last, &width))
		return s;
	for (size_t i = 0; i < b->groups.n; i++)
		requests += moments_effective(&b->groups.v[i].total);
	most = (size_t)fmin(fmax(requests / STRATUM_WANTED, 1), STRATA_MOST);
	s.first = first;
	s.width = (last - first + (int64_t)most - 1) / (int64_t)most;
	s.width = s.width > width ? s.width : width;
	if (!brief || s.width <= HOURS_WIDTH || last - first < DAY / 2)
		s.n = (size_t)((last - first + s.width - 1) / s.width);
	return s;
}

static struct strata parts_of_day(const struct bucket *b)
{
	int64_t first, last, width;
	struct strata s = {.n = 1, .of_day = true};

	if (!strata_times(b, &first, &last, &width) || last - first < DAY / 2 || width > HOURS_WIDTH)
		return s;
	s.n = (size_t)(DAY / width) < HOURS ? (size_t)(DAY / width) : HOURS;
	s.width = DAY / (int64_t)s.n;
	return s;
}

struct strata strata_by(const struct bucket *b, int way)
{
	return way == 1 ? parts_of_day(b) : parts_of_time(b, way == 0);
}

static size_t stratum_of(const struct strata *s, int64_t start)
{
	int64_t at = s->of_day ? (start % DAY + DAY) % DAY : start - s->first;
	size_t stratum = s->width > 0 ? (size_t)(at / s->width) : 0;

	return stratum < s->n ? stratum : s->n - 1;
}

void strata_add(const struct strata *s, const struct forest_group *g, uint32_t vertex, double *counts, double *sums)
{
	VEC_EACH(slot, g->slots) {
		size_t at = FIRST_WHERE(k, slot->cells.n, slot->cells.v[k].vertex >= vertex), stratum = stratum_of(s, slot->start);
		const struct moments *m = &slot->total;

		if (vertex == NO_VERTEX) {
			counts[stratum] += moments_count(m);
			sums[stratum] += m->count ? moments_count(m) * moments_mean(m) : 0;
			continue;
		}
		if (at == slot->cells.n || slot->cells.v[at].vertex != vertex)
			continue;
		counts[stratum] += (double)slot->cells.v[at].calls / (double)SPAN_WEIGHT_ONE;
		sums[stratum] += (double)slot->cells.v[at].self / (double)SPAN_WEIGHT_ONE;
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

/* Do times differ by more than their hours of the day and their versions, and chance? */
static int times_differ(const struct bucket *b, const struct strata *day, const double *counts, const double *sums)
{
	const struct strata time = strata_by(b, 2);
	size_t n = b->groups.n, freedom = 0;
	_cleanup_free_ double *of_group = calloc(n + 1, sizeof(*of_group)), *of_phase = calloc(day->n + 1, sizeof(*of_phase));
	double off[STRATA_MOST] = {}, variance[STRATA_MOST] = {}, chi = 0;

	if (!of_group || !of_phase)
		return -ENOMEM;
	groups_fit(counts, sums, n, day->n, of_group, of_phase);
	for (size_t i = 0; i < n; i++) {
		const struct forest_group *g = &b->groups.v[i];
		double mean = moments_mean(&g->total), spread = moments_variance(&g->total) / (mean * mean);

		for (size_t k = 0; mean > 0 && k < g->slots.n; k++) {
			const struct moments *m = &g->slots.v[k].total;
			double count = moments_count(m), usual = of_group[i] * of_phase[stratum_of(day, g->slots.v[k].start)];
			size_t at = stratum_of(&time, g->slots.v[k].start);

			if (!m->count)
				continue;
			off[at] += count * (moments_mean(m) - usual);
			variance[at] += count * count / moments_effective(m) * spread * usual * usual;
		}
	}
	for (size_t h = 0; h < time.n; h++) {
		chi += variance[h] > 0 ? off[h] * off[h] / variance[h] : 0;
		freedom += variance[h] > 0;
	}
	return freedom > n + day->n && chi > TIMES_DIFFER * (double)(freedom - n - day->n);
}

/* 1 = done, 0 = too little is shared this way (or `unless_times_differ` and they do), -ENOMEM. */
static int level_by(const struct bucket *b, const struct strata *s, bool unless_times_differ, struct version_group *groups)
{
	size_t n = b->groups.n;
	_cleanup_free_ double *counts = calloc(n * s->n, sizeof(*counts)), *sums = calloc(n * s->n, sizeof(*sums));
	int differ = 0;

	if (!counts || !sums)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		strata_add(s, &b->groups.v[i], NO_VERTEX, counts + i * s->n, sums + i * s->n);
	if (s->n < 2 || !all_share(s, b, counts))
		return 0;
	if (unless_times_differ)
		differ = times_differ(b, s, counts, sums);
	if (differ)
		return differ < 0 ? differ : 0;
	return groups_level(groups, n, counts, sums, s->n) < 0 ? -ENOMEM : 1;
}

int strata_level(const struct bucket *b, struct version_group *groups)
{
	static const struct {
		int way;
		bool unless_times_differ;
	} tried[] = {{1, true}, {0, false}, {1, false}, {2, false}};
	int r = 0;

	for (size_t t = 0; r == 0 && b->groups.n > 1 && t < ARRAY_SIZE(tried); t++) {
		const struct strata s = strata_by(b, tried[t].way);

		r = level_by(b, &s, tried[t].unless_times_differ, groups);
	}
	return r;
}
