#include "answer/fleet/fleet-window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fleet/fleet-series.h"
#include "base/data/cleanup.h"

#define TOLERATED 1.5 /* spreads from normal: the peak of a cycle lies at one */
#define ROW_MOST  20.0 /* that a row counts: one odd value is no incident */
#define ROW_LEAST -1.0 /* a row that looks normal ends no incident */
#define ENOUGH	  6.0 /* in all, by the root of the rows: three rows at five spreads, or a hundred at two */
#define QUARTER	  4

#define SMOOTHED 3   /* of a server without peers: one odd value is no incident */
#define FAR	 4.0 /* spreads from the median */
#define GAP	 5   /* rows that may look usual within an incident */

struct normal {
	double middle, spread;
};

struct stretch_found {
	double excess;
	struct fleet_span span;
};

/* Stretches with the largest sum of what their rows lie beyond TOLERATED on one side (Kadane's maximum subarray), compared by the sum
 * over the root of the rows, as noise grows: a short one far away and a long one near by are found alike. */
static void find_side(const struct fleet_server *s, const float *v, const struct normal *normal, double side, struct stretch_found *best)
{
	uint32_t begin = 0;
	double sum = 0, excess;

	for (uint32_t i = 0; i < s->n; i++) {
		double z = side * ((double)v[i] - normal->middle) / normal->spread;

		if (isnan(z))
			continue;
		begin = sum > 0 ? begin : i;
		sum = fmax(0, sum + fmin(fmax(z, ROW_LEAST), ROW_MOST) - TOLERATED);
		excess = sum / sqrt(i - begin + 1);
		if (excess > best->excess)
			*best = (struct stretch_found){excess, {s->time[begin], s->time[i] + 1}};
	}
}

static void find_stretch_among_peers(const struct fleet_server *s, const float *v, const struct normal *normal, struct stretch_found *best)
{
	find_side(s, v, normal, 1, best);
	find_side(s, v, normal, -1, best);
}

/* How far the smoothed value at a row lies from what is normal. */
static double how_far(const float *v, uint32_t n_rows, uint32_t row, const struct normal *normal)
{
	float around[SMOOTHED];
	size_t n = 0;

	for (uint32_t i = row ? row - 1 : 0; i < n_rows && n < SMOOTHED; i++)
		if (!isnan(v[i]))
			around[n++] = v[i];
	return n ? fabs((double)select_kth(around, n, n / 2) - normal->middle) / normal->spread : 0;
}

/* Without peers a cycle and noise are all that is known: only what lies FAR counts. */
static void find_stretch_alone(const struct fleet_server *s, const float *v, const struct normal *normal, struct stretch_found *best)
{
	uint32_t begin = 0, last = 0;
	double excess = 0;

	for (uint32_t i = 0; i <= s->n; i++) {
		double far = i < s->n ? how_far(v, s->n, i, normal) : 0;

		if (far > FAR) {
			begin = excess > 0 ? begin : i;
			excess += log(far);
			last = i;
		} else if (excess > 0 && (i - last > GAP || i == s->n)) {
			if (excess > best->excess)
				*best = (struct stretch_found){excess, {s->time[begin], s->time[last] + 1}};
			excess = 0;
		}
	}
}

static double spread_of(const float *v, uint32_t n, struct select_room *room)
{
	const struct piece piece = {v, n};

	return (quantile_of_pieces(&piece, 1, 0.75, room) - quantile_of_pieces(&piece, 1, 0.25, room)) / 1.349;
}

static struct normal normal_of(const float *v, uint32_t n, struct select_room *room)
{
	const struct piece piece = {v, n};
	struct normal normal = {median_of(&piece, 1, room), spread_of(v, n, room)};

	normal.spread = fmax(normal.spread, fmax(USUAL_FLOOR * fabs(normal.middle), 1e-12));
	return normal;
}

/* What the members of a server's group stray from each other: the median of their spreads. */
static double common_spread(const struct fleet_series *d, const struct fleet_relative *relative, size_t server, float *room_of_spreads,
			    const float *spreads)
{
	size_t n = 0;

	for (size_t i = 0; i < relative->n; i++)
		if (relative->v[i] && d->peers.group.v[i] == d->peers.group.v[server] && !isnan(spreads[i]))
			room_of_spreads[n++] = spreads[i];
	return n ? fmax((double)select_kth(room_of_spreads, n, n / 2), USUAL_FLOOR) : NAN;
}

struct search {
	const struct fleet_question *q;
	struct fleet_series series;
	struct stretch_found best;
	struct fleet_stretches *all; /* collects them all; NULL = the best alone is wanted */
	struct select_room room;
	float *spreads, *sorted; /* by server */
	float *copy;		 /* of a series, in which what was found is taken out */
};

typedef void (*stretch_finder)(const struct fleet_server *s, const float *v, const struct normal *normal, struct stretch_found *best);

/* One series: its best stretch, or one after another. `least`: from which excess on one counts. 0 or -ENOMEM. */
static int search_series(struct search *s, size_t server, size_t counter, const float *v, const struct normal *normal, stretch_finder find,
			 double least)
{
	const struct fleet_server *of = &s->q->fleet->servers.v[server];
	unsigned found = 0;

	if (!s->all) {
		struct stretch_found best = {.excess = fmax(least, s->best.excess)};

		find(of, v, normal, &best);
		if (best.span.to > best.span.from)
			s->best = best;
		return 0;
	}
	memcpy(s->copy, v, of->n * sizeof(*v));
	while (found++ < FLEET_STRETCHES_EACH) {
		struct stretch_found best = {.excess = fmax(least, ENOUGH)};
		struct fleet_stretch x = {.server = (int)server, .counter = (int)counter};
		uint32_t first, n;

		find(of, s->copy, normal, &best);
		n = fleet_rows(of, best.span.from, best.span.to, &first);
		if (!n)
			break;
		for (uint32_t i = first; i < first + n; i++)
			s->copy[i] = NAN;
		x.span = best.span;
		x.score = best.excess;
		if (VEC_PUSH(s->all->list, x) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* `relative`: those that have peers are left out; NULL = none is. */
static int search_own(struct search *s, size_t counter, const struct fleet_relative *relative)
{
	const struct fleet *f = s->q->fleet;
	int r = 0;

	for (size_t i = 0; i < f->servers.n && r == 0; i++) {
		const struct fleet_server *server = &f->servers.v[i];
		struct normal normal;

		if (!server->column[counter] || (s->q->server >= 0 && (size_t)s->q->server != i) || (relative && relative->v && relative->v[i]))
			continue;
		normal = normal_of(server->column[counter], server->n, &s->room);
		if (!isnan(normal.middle))
			r = search_series(s, i, counter, server->column[counter], &normal, find_stretch_alone, 0);
	}
	return r;
}

static int search_relative(struct search *s, size_t counter)
{
	const struct fleet *f = s->q->fleet;
	_cleanup_(fleet_relative_free) struct fleet_relative relative = {};
	int r = fleet_series_relative(&s->series, counter, &s->room, &relative);

	for (size_t i = 0; r == 0 && relative.v && i < f->servers.n; i++)
		s->spreads[i] = relative.v[i] ? (float)spread_of(relative.v[i], f->servers.v[i].n, &s->room) : NAN;
	for (size_t i = 0; r == 0 && relative.v && i < f->servers.n; i++) {
		struct piece first = {relative.v[i], f->servers.v[i].n / QUARTER};
		struct normal normal;

		if (!relative.v[i] || (s->q->server >= 0 && (size_t)s->q->server != i))
			continue;
		normal.middle = median_of(&first, 1, &s->room);
		normal.spread = common_spread(&s->series, &relative, i, s->sorted, s->spreads);
		if (!isnan(normal.middle) && !isnan(normal.spread))
			r = search_series(s, i, counter, relative.v[i], &normal, find_stretch_among_peers, ENOUGH);
	}
	return r < 0 ? r : search_own(s, counter, &relative);
}

/* The first quarter is normal, the window lies behind all of the data. Levels of one and the same time: where a cycle is high, it is high
 * for all. */
static struct fleet_question about_first_quarter(const struct fleet_question *q)
{
	struct fleet_question early = *q;
	int64_t first, last;

	fleet_extent(q->fleet, &first, &last);
	early.window = (struct fleet_span){INT64_MAX - 1, INT64_MAX};
	early.usual = (struct fleet_span){first, first + (last - first) / QUARTER};
	return early;
}

/* `together`: also those that have peers as they are, for what befell all of a role. */
static int search_all(struct search *s, bool together)
{
	int r = 0;

	for (size_t c = 0; c < s->q->fleet->counters.n && r == 0; c++) {
		if (s->q->counter >= 0 && (size_t)s->q->counter != c)
			continue;
		if (together)
			r = search_own(s, c, NULL);
		else
			r = search_relative(s, c);
	}
	return r;
}

static int search_fleet(const struct fleet_question *q, bool together, struct fleet_stretches *all, struct stretch_found *ret_best)
{
	const struct fleet *f = q->fleet;
	struct fleet_question early = about_first_quarter(q);
	struct search s = {.q = q, .all = all};
	uint32_t rows = 0;
	int r = fleet_series_open(&early, &s.series);

	for (size_t i = 0; i < f->servers.n; i++)
		rows = f->servers.v[i].n > rows ? f->servers.v[i].n : rows;
	s.spreads = malloc((f->servers.n + 1) * sizeof(*s.spreads));
	s.sorted = malloc((f->servers.n + 1) * sizeof(*s.sorted));
	s.copy = malloc(((size_t)rows + 1) * sizeof(*s.copy));
	if (!s.spreads || !s.sorted || !s.copy)
		r = -ENOMEM;
	if (r == 0)
		r = search_all(&s, together);
	fleet_series_close(&s.series);
	select_room_free(&s.room);
	free(s.spreads);
	free(s.sorted);
	free(s.copy);
	*ret_best = s.best;
	return r;
}

int fleet_window_find(const struct fleet_question *q, bool together, struct fleet_span *ret)
{
	struct stretch_found best;
	int r = search_fleet(q, together, NULL, &best);

	if (r < 0)
		return r;
	if (!(best.excess > 0))
		return -ENODATA;
	*ret = best.span;
	if (ret->to - ret->from < 3 * q->fleet->interval) /* at the edges of the data a window of one row cannot be judged */
		ret->to = ret->from + 3 * q->fleet->interval;
	return 0;
}

int fleet_stretches_find(const struct fleet_question *q, struct fleet_stretches *ret)
{
	struct stretch_found unused;

	return search_fleet(q, false, ret, &unused);
}

/* --- all the time --- */

/* The levels of one group's servers; NaN = none. */
static int compare_group(const struct fleet_question *q, const struct fleet_peers *p, int group, size_t counter, const double *levels,
			 float *room, struct fleet_findings *ret)
{
	double middle, spread;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < q->fleet->servers.n; i++)
		if (p->group.v[i] == group && !isnan(levels[i]))
			room[n++] = (float)levels[i];
	if (n < FLEET_PEERS_MIN)
		return 0;
	middle = (double)select_kth(room, n, n / 2);
	for (size_t i = 0; i < n; i++)
		room[i] = (float)fabs((double)room[i] - middle);
	spread = fmax(1.4826 * (double)select_kth(room, n, n / 2), 0.02 * fabs(middle));
	for (size_t i = 0; i < q->fleet->servers.n && r == 0 && spread > 0; i++) {
		struct fleet_finding x = fleet_finding_empty;

		if (p->group.v[i] != group || isnan(levels[i]) || (q->server >= 0 && (size_t)q->server != i))
			continue;
		x.server = (int)i;
		x.counter = (int)counter;
		x.observed = levels[i];
		x.usual = middle;
		x.spread = spread;
		x.score = fabs(levels[i] - middle) / spread;
		x.n = (uint32_t)n;
		x.flags = FLEET_PEER | (levels[i] > middle ? FLEET_HIGHER : FLEET_LOWER);
		if (x.score >= LEVELS_FAR)
			r = VEC_PUSH(ret->list, x);
	}
	return r;
}

int fleet_levels_compare(const struct fleet_question *q, struct fleet_findings *ret)
{
	const struct fleet *f = q->fleet;
	_cleanup_free_ double *levels = calloc(f->servers.n + 1, sizeof(*levels));
	_cleanup_free_ float *room = calloc(f->servers.n + 1, sizeof(*room));
	_cleanup_(select_room_free) struct select_room select = {};
	struct fleet_peers p = {};
	int r = levels && room ? fleet_peers_find(f, &p) : -ENOMEM;

	ret->analysis = "deviation";
	for (size_t c = 0; c < f->counters.n && r == 0; c++) {
		if (q->counter >= 0 && (size_t)q->counter != c)
			continue;
		for (size_t i = 0; i < f->servers.n; i++) {
			struct piece all = {f->servers.v[i].column[c], f->servers.v[i].n};

			levels[i] = all.v ? median_of(&all, 1, &select) : NAN;
		}
		for (size_t g = 0; g < p.groups && r == 0; g++)
			r = compare_group(q, &p, (int)g, c, levels, room, ret);
	}
	fleet_peers_free(&p);
	fleet_findings_sort(ret);
	return r;
}
