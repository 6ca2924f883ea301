#include "fleet/ask/fleet-info.h"

#include <errno.h>
#include <stdlib.h>

#include "fleet/analysis/fleet-align.h"
#include "fleet/analysis/fleet-peers.h"
#include "lib/data/cleanup.h"

#define CLOCK_OFF 10 /* a tenth of the interval: less is not reported */

void fleet_info_free(struct fleet_info *i)
{
	VEC_FREE(i->clocks);
	VEC_FREE(i->groups);
}

static int by_skew(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Where most clocks are: points are counted from the one that is behind all others. 0 or -ENOMEM. */
static int usual_skew(const struct fleet_alignment *a, int64_t *ret)
{
	_cleanup_free_ int64_t *skews = calloc(a->servers.n + 1, sizeof(*skews));
	size_t n = 0;

	if (!skews)
		return -ENOMEM;
	for (size_t i = 0; i < a->servers.n; i++)
		if (a->servers.v[i].used)
			skews[n++] = a->servers.v[i].skew;
	if (n)
		qsort(skews, n, sizeof(*skews), by_skew);
	*ret = n ? skews[n / 2] : 0;
	return 0;
}

static int find_clocks(const struct fleet_alignment *a, struct fleet_info *ret)
{
	int64_t usual;
	int r = usual_skew(a, &usual);

	ret->common = a->tf - a->ts;
	ret->points = a->n;
	ret->points_most = a->n_most;
	ret->from = a->ts;
	ret->to = a->tf;
	ret->by_index = a->by != FLEET_BY_TIME;
	for (size_t i = 0; r == 0 && i < a->servers.n; i++) {
		const struct fleet_aligned_server *s = &a->servers.v[i];
		const int64_t off = s->skew - usual;

		r = VEC_PUSH(ret->clocks, (struct fleet_clock){.skew = s->skew, .drift = s->drift, .off = llabs(off) > a->d / CLOCK_OFF ? off : 0,
							       .missing = s->missing, .drifts = !s->gaps && llabs(s->drift) >= a->d / 2, .late = s->late, .ended = s->died});
	}
	return r;
}

static int find_groups(const struct fleet *f, struct fleet_info *ret)
{
	struct fleet_peers p;
	int r = fleet_peers_find(f, &p);

	if (r < 0)
		return r;
	for (size_t g = 0; r == 0 && g < p.groups; g++) {
		struct fleet_group x = {};

		for (size_t i = 0; i < f->servers.n; i++)
			if (p.group.v[i] == (int)g && x.n++ == 0)
				x.first = i;
		r = VEC_PUSH(ret->groups, x);
	}
	fleet_peers_free(&p);
	return r;
}

int fleet_info_find(const struct fleet *f, bool literal, struct fleet_info *ret)
{
	const struct fleet_span all = {INT64_MIN, INT64_MAX};
	struct fleet_alignment a = {};
	struct fleet_info info = {};
	int r = literal ? fleet_align(f, all, FLEET_LITERALLY, &a) : fleet_align_best(f, all, &a);

	r = r == 0 ? find_clocks(&a, &info) : r == -ENODATA || r == -E2BIG ? 0 : r;
	if (r == 0)
		r = find_groups(f, &info);
	fleet_alignment_free(&a);
	if (r < 0)
		fleet_info_free(&info);
	else
		*ret = info;
	return r;
}
