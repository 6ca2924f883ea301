#include "analysis/span-phase.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define DAY	   (86400 * NS_PER_SEC)
#define SLOT_MOST  (3ll * 3600 * NS_PER_SEC)

size_t span_phases(const struct bucket *b)
{
	int64_t first = INT64_MAX, last = INT64_MIN, width = 0;

	for (size_t i = 0; i < b->groups.n; i++) {
		const struct group *g = &b->groups.v[i];

		first = g->first_seen < first ? g->first_seen : first;
		last = g->last_seen > last ? g->last_seen : last;
		width = g->slot_width > width ? g->slot_width : width;
	}
	if (!b->groups.n || last - first < DAY / 2 || width > SLOT_MOST || width <= 0)
		return 1;
	return (size_t)(DAY / width) < SPAN_PHASES ? (size_t)(DAY / width) : SPAN_PHASES;
}

void span_phase_add(const struct group *g, size_t phases, double *counts, double *sums)
{
	for (size_t i = 0; i < g->slots.n; i++) {
		const struct slot *s = &g->slots.v[i];
		size_t phase = (size_t)((s->start % DAY + DAY) % DAY / (DAY / (int64_t)phases)) % phases;

		counts[phase] += moments_count(&s->total);
		sums[phase] += s->total.count ? moments_count(&s->total) * moments_mean(&s->total) : 0;
	}
}

int span_phase_level(const struct bucket *b, struct version_group *groups)
{
	size_t phases = span_phases(b), n = b->groups.n;
	_cleanup_free_ double *counts = NULL, *sums = NULL;

	if (phases < 2 || n < 2)
		return 0;
	counts = calloc(n * phases, sizeof(*counts));
	sums = calloc(n * phases, sizeof(*sums));
	if (!counts || !sums)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		span_phase_add(&b->groups.v[i], phases, counts + i * phases, sums + i * phases);
	return groups_level(groups, n, counts, sums, phases) < 0 ? -ENOMEM : 1;
}
