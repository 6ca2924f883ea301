/* PAD, Equation 1: X = |GlobalMedian - LocalMedian| / GlobalStandardDeviation, literally. The local median is that of a
 * server, or (by_time) of all servers at a time point, by the index of time correlation. Averages and quantiles in the
 * median's place where the question says so. The standard deviation divides by n. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "fleet/analysis/fleet-align.h"
#include "fleet/analysis/fleet-analysis.h"
#include "lib/data/cleanup.h"

#define STRIP 16 /* time points that are turned from rows into columns at once */

struct within {
	const struct fleet_question *q;
	struct fleet_alignment align;
	struct fleet_findings *ret;
	pthread_mutex_t lock;
};

struct global {
	double value, sd;
};

static int report(struct within *w, struct fleet_finding *found, size_t n, uint64_t looked_at)
{
	int r = 0;

	pthread_mutex_lock(&w->lock);
	w->ret->looked_at += looked_at;
	for (size_t i = 0; i < n && r == 0; i++)
		r = VEC_PUSH(w->ret->list, found[i]);
	pthread_mutex_unlock(&w->lock);
	return r;
}

static struct fleet_finding compare(const struct global *g, double local, size_t counter, size_t n)
{
	struct fleet_finding x = fleet_finding_empty;

	x.counter = (int)counter;
	x.observed = local;
	x.usual = g->value;
	x.spread = g->sd;
	x.score = g->sd > 0 ? fabs(g->value - local) / g->sd : NAN; /* a constant has no deviation */
	x.n = (uint32_t)n;
	x.flags = local > g->value ? FLEET_HIGHER : local < g->value ? FLEET_LOWER : 0;
	return x;
}

static bool counts(const struct within *w, const struct fleet_finding *x)
{
	return !isnan(x->score) && (isnan(w->q->threshold) || x->score >= w->q->threshold);
}

static int servers(struct within *w, size_t counter, const struct global *g, struct select_room *room)
{
	const struct fleet *f = w->q->fleet;
	_cleanup_free_ struct fleet_finding *found = malloc(f->servers.n * sizeof(*found));
	size_t n = 0;

	if (!found)
		return -ENOMEM;
	for (size_t i = 0; i < f->servers.n; i++) {
		const struct fleet_server *s = &f->servers.v[i];
		uint32_t first, rows = fleet_rows(s, w->q->window.from, w->q->window.to, &first);
		struct piece piece = {s->column[counter] ? s->column[counter] + first : NULL, rows};
		double local = piece.v && rows ? fleet_statistic_of(w->q, &piece, 1, room) : NAN;

		if (isnan(local))
			continue;
		found[n] = compare(g, local, counter, rows);
		found[n].server = (int)i;
		n += counts(w, &found[n]);
	}
	return report(w, found, n, f->servers.n);
}

/* Values of all servers at time points [k, k + STRIP), one run a point. */
static void turn(const struct within *w, size_t counter, uint32_t k, float *to, size_t *n_each)
{
	const struct fleet *f = w->q->fleet;
	size_t n = 0;

	for (size_t i = 0; i < f->servers.n; i++) {
		const float *v = f->servers.v[i].column[counter];

		if (!v || !fleet_aligned(&w->align, i))
			continue;
		for (uint32_t t = 0; t < STRIP && k + t < w->align.n; t++) {
			uint32_t row = fleet_aligned_row(&w->align, i, k + t);

			to[t * f->servers.n + n] = row == FLEET_NO_ROW ? NAN : v[row];
		}
		n++;
	}
	*n_each = n;
}

static int times(struct within *w, size_t counter, const struct global *g, struct select_room *room)
{
	const struct fleet *f = w->q->fleet;
	_cleanup_free_ struct fleet_finding *found = malloc((size_t)w->align.n * sizeof(*found) + 1);
	_cleanup_free_ float *strip = malloc(STRIP * f->servers.n * sizeof(*strip));
	size_t n = 0;

	if (!found || !strip)
		return -ENOMEM;
	for (uint32_t k = 0; k < w->align.n; k += STRIP) {
		size_t n_each;

		turn(w, counter, k, strip, &n_each);
		for (uint32_t t = 0; t < STRIP && k + t < w->align.n; t++) {
			struct piece piece = {strip + t * f->servers.n, n_each};
			double local = n_each ? fleet_statistic_of(w->q, &piece, 1, room) : NAN;

			if (isnan(local))
				continue;
			found[n] = compare(g, local, counter, n_each);
			found[n].time = w->align.ts + (k + t) * w->align.d;
			n += counts(w, &found[n]);
		}
	}
	return report(w, found, n, w->align.n);
}

static int one_counter(void *data, size_t counter)
{
	struct within *w = data;
	const struct fleet *f = w->q->fleet;
	_cleanup_free_ struct piece *pieces = malloc((f->servers.n + 1) * sizeof(*pieces));
	_cleanup_(select_room_free) struct select_room room = {};
	struct column_moments m;
	struct global g;
	size_t n;

	if (!pieces)
		return -ENOMEM;
	if (w->q->counter >= 0 && (size_t)w->q->counter != counter)
		return 0;
	n = fleet_pieces(f, counter, w->q->window, pieces);
	column_moments_of(pieces, n, &m);
	g = (struct global){fleet_statistic_of(w->q, pieces, n, &room), m.sd};
	return w->q->by_time ? times(w, counter, &g, &room) : servers(w, counter, &g, &room);
}

static int run(const struct fleet_question *q, struct fleet_findings *ret)
{
	struct within w = {.q = q, .ret = ret, .lock = PTHREAD_MUTEX_INITIALIZER};
	int r = 0;

	ret->analysis = "within";
	if (q->by_time)
		r = fleet_align(q->fleet, q->window, FLEET_BY_INDEX, &w.align);
	if (r == 0 && fleet_aligned_partly(&w.align))
		ret->remark = FLEET_PARTLY;
	r = r ?: parallel_run(q->threads, q->fleet->counters.n, one_counter, &w);
	fleet_alignment_free(&w.align);
	if (r == 0)
		fleet_findings_sort(ret);
	return r;
}

const struct fleet_analysis fleet_within = {
	.name = "within",
	.help = "PAD's Equation 1: each server's (or time point's) median against the fleet's, in standard deviations",
	.run = run,
};
