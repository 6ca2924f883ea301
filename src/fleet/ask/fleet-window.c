#include "fleet/ask/fleet-window.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-scan.h"
#include "fleet/analysis/fleet-series.h"
#include "lib/data/cleanup.h"
#include "lib/system/parallel.h"

#define TOLERATED 1.5 /* spreads from normal: the peak of a cycle lies at one */
#define ROW_MOST  20.0 /* that a row counts */
#define ROWS_LEAST 3  /* fewer extreme rows are not an incident: among a hundred thousand values there are some */
#define ROW_LEAST -1.0 /* a row that looks normal ends no incident */
#define ENOUGH	  6.0 /* in all: where rows are independent, three of them at five spreads, or 150 at two */
#define QUARTER	  4
#define ALONE	  5.0 /* of a server without peers, where no symptom is given (fleet-scan.h): chance reaches 4 */

#define FEW_LEVELS  6.0 /* servers, of which levels tell half as surely how far levels normally lie apart */

#define LENGTHS	    14 /* 1, 2, 4 ... rows */
#define MEANS_LEAST 8

/* A series of one server; how far it strays is common to its group. */
struct normal {
	double middle, spread;
	double wander[LENGTHS]; /* how far means of so many rows lie from the middle, in spreads: noise with a memory does not average out */
	unsigned lengths;	/* longer means are those of independent ones of the longest of these */
};

static double wander_of(const struct normal *normal, uint32_t rows)
{
	unsigned k = 31 - (unsigned)__builtin_clz(rows);
	double part = (double)(rows - (1u << k)) / (double)(1u << k);

	if (k + 1 >= normal->lengths)
		return normal->wander[normal->lengths - 1] * sqrt((double)(1u << (normal->lengths - 1)) / (double)rows);
	return normal->wander[k] + (normal->wander[k + 1] - normal->wander[k]) * part;
}


/* Rows [begin, end], which lie beyond TOLERATED by `sum` in all, `largest` of it in one row: compared by what the sum of so many rows normally is, so that
 * a short interval far away and a long one nearby count the same. The farthest row does not count: one alone does not make an incident. */
static void take_better(const struct fleet_server *s, const struct normal *normal, uint32_t begin, uint32_t end, double sum, double largest,
			struct fleet_stretch *best)
{
	uint32_t rows = end - begin + 1;
	double excess = rows >= ROWS_LEAST ? (sum - largest) / ((rows - 1) * wander_of(normal, rows)) : 0;

	if (excess > best->score) {
		best->score = excess;
		best->span = (struct fleet_span){s->time[begin], s->time[end] + 1};
	}
}

/* Each interval with the largest sum of what its rows lie beyond TOLERATED on one side (Kadane's maximum subarray). */
static void find_side(const struct fleet_server *s, const float *v, const struct normal *normal, double side, struct fleet_stretch *best)
{
	uint32_t begin = 0, end = 0;
	double sum = 0, most = 0, largest = 0, of_most = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		double z = side * ((double)v[i] - normal->middle) / normal->spread;

		if (isnan(z))
			continue;
		if (!(sum > 0)) {
			take_better(s, normal, begin, end, most, of_most, best);
			begin = i;
			most = largest = of_most = 0;
		}
		z = fmin(fmax(z, ROW_LEAST), ROW_MOST) - TOLERATED;
		sum = fmax(0, sum + z);
		largest = fmax(largest, z);
		if (sum > most) {
			most = sum;
			of_most = largest;
			end = i;
		}
	}
	take_better(s, normal, begin, end, most, of_most, best);
}

static void find_stretch_among_peers(const struct fleet_server *s, const float *v, const struct normal *normal, struct fleet_stretch *best)
{
	find_side(s, v, normal, 1, best);
	find_side(s, v, normal, -1, best);
}

static double spread_of(const float *v, uint32_t n, struct select_room *room)
{
	const struct piece piece = {v, n};

	return (columns_quantile(&piece, 1, 0.75, room) - columns_quantile(&piece, 1, 0.25, room)) / 1.349;
}

struct search {
	const struct fleet_question *q;
	struct fleet_series series;
	struct fleet_stretch best;
	struct fleet_stretches *all; /* collects them all; NULL = the best alone is wanted */
	struct select_room room;
	float (*wander)[LENGTHS]; /* by server */
	float *sorted;		 /* by server */
	float *copy, *away;	 /* of a series: what was found is taken out; distances */
	bool *searched;		 /* by server and counter: among peers, or not to be searched */
	pthread_mutex_t lock;	 /* of `best` and `all` */
};

/* How far means of 1, 2, 4 ... rows lie from the series' median: a robust standard deviation of each, NaN where there are fewer than
 * MEANS_LEAST. */
static void find_wander(struct search *s, const float *v, uint32_t n, float to[LENGTHS])
{
	const struct piece all = {v, n};
	float middle = (float)columns_median(&all, 1, &s->room);

	to[0] = (float)spread_of(v, n, &s->room);
	memcpy(s->copy, v, n * sizeof(*v));
	for (unsigned k = 1; k < LENGTHS; k++) {
		size_t kept = 0;

		n /= 2;
		for (uint32_t i = 0; i < n; i++) {
			s->copy[i] = (s->copy[2 * i] + s->copy[2 * i + 1]) / 2;
			if (!isnan(s->copy[i]))
				s->away[kept++] = fabsf(s->copy[i] - middle);
		}
		to[k] = kept < MEANS_LEAST ? NAN : columns_select(s->away, kept, kept / 2) / 0.6745F;
	}
}

/* The members of a group stray from each other by the median of what each of them does. */
static bool find_common(const struct search *s, const struct fleet_relative *relative, int group, struct normal *ret)
{
	*ret = (struct normal){};
	for (unsigned k = 0; k < LENGTHS; k++) {
		size_t n = 0;
		double common;

		for (size_t i = 0; i < relative->n; i++)
			if (relative->v[i] && s->series.peers.group.v[i] == group && !isnan(s->wander[i][k]))
				s->sorted[n++] = s->wander[i][k];
		if (!n)
			break;
		common = (double)columns_select(s->sorted, n, n / 2);
		if (k == 0)
			ret->spread = fmax(common, USUAL_FLOOR);
		ret->wander[k] = k == 0 ? 1 : fmax(common / ret->spread, 1 / sqrt(1u << k));
		ret->lengths = k + 1;
	}
	return ret->lengths;
}

static bool is_asked(const struct fleet_question *q, size_t server, size_t counter)
{
	return (q->server < 0 || (size_t)q->server == server) && (q->counter < 0 || (size_t)q->counter == counter);
}

/* One series among its peers: its best interval, or one after another. 0 or -ENOMEM. */
static int search_among_peers(struct search *s, size_t server, size_t counter, const float *v, const struct normal *normal)
{
	const struct fleet_server *of = &s->q->fleet->servers.v[server];

	if (!s->all) {
		struct fleet_stretch best = {(int)server, (int)counter, fmax(s->best.score, ENOUGH), {}, false};

		find_stretch_among_peers(of, v, normal, &best);
		if (best.span.to > best.span.from)
			s->best = best;
		return 0;
	}
	memcpy(s->copy, v, of->n * sizeof(*v));
	for (unsigned found = 0; found < FLEET_STRETCHES_EACH; found++) {
		struct fleet_stretch best = {(int)server, (int)counter, ENOUGH, {}, false};
		uint32_t first, n;

		find_stretch_among_peers(of, s->copy, normal, &best);
		n = fleet_rows(of, best.span.from, best.span.to, &first);
		if (!n)
			break;
		for (uint32_t i = first; i < first + n; i++)
			s->copy[i] = NAN;
		if (VEC_PUSH(s->all->list, best) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int search_group(struct search *s, int group, size_t counter, const struct fleet_relative *relative)
{
	const struct fleet *f = s->q->fleet;
	struct normal normal;
	bool found = find_common(s, relative, group, &normal);
	int r = 0;

	for (size_t i = 0; i < f->servers.n && found && r == 0; i++) {
		const struct piece first = {relative->v[i], f->servers.v[i].n / QUARTER};

		if (!relative->v[i] || s->series.peers.group.v[i] != group || !is_asked(s->q, i, counter))
			continue;
		s->searched[i * f->counters.n + counter] = true;
		normal.middle = columns_median(&first, 1, &s->room);
		if (!isnan(normal.middle))
			r = search_among_peers(s, i, counter, relative->v[i], &normal);
	}
	return r;
}

static int search_relative(struct search *s, size_t counter)
{
	const struct fleet *f = s->q->fleet;
	_cleanup_(fleet_relative_free) struct fleet_relative relative = {};
	int r = fleet_series_relative(&s->series, counter, &s->room, &relative);

	for (size_t i = 0; r == 0 && relative.v && i < f->servers.n; i++)
		if (relative.v[i])
			find_wander(s, relative.v[i], f->servers.v[i].n, s->wander[i]);
	for (size_t g = 0; r == 0 && relative.v && g < s->series.peers.groups; g++)
		r = search_group(s, (int)g, counter, &relative);
	return r;
}

static struct fleet_stretch as_stretch(size_t server, const struct scan_found *x)
{
	return (struct fleet_stretch){(int)server, x->counter, x->score, x->span, false};
}

static int collect_alone(struct search *s, size_t server, const bool *skip)
{
	struct scan_list found = {};
	int r = fleet_scan_each(s->q->fleet, server, skip, ENOUGH, FLEET_STRETCHES_EACH, &found);

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < found.list.n && r == 0; i++)
		r = VEC_PUSH(s->all->list, as_stretch(server, &found.list.v[i]));
	pthread_mutex_unlock(&s->lock);
	VEC_FREE(found.list);
	return r;
}

/* All counters of a server that were not searched among peers. With a symptom something was slow: then its farthest interval counts,
 * however far. */
static int search_alone(void *data, size_t server)
{
	struct search *s = data;
	const bool *skip = s->searched + server * s->q->fleet->counters.n;
	struct scan_found found;
	int r;

	if (s->q->server >= 0 && (size_t)s->q->server != server)
		return 0;
	if (s->all)
		return collect_alone(s, server, skip);
	if (s->q->counter >= 0 && skip[s->q->counter])
		return 0;
	r = s->q->counter >= 0 && s->q->server >= 0 ? fleet_scan_symptom(s->q->fleet, server, (size_t)s->q->counter, &found) :
						      fleet_scan_server(s->q->fleet, server, skip, &found);
	if (r < 0)
		return r == -ENODATA ? 0 : r;
	pthread_mutex_lock(&s->lock);
	if (found.score > s->best.score && (s->q->counter >= 0 || found.score >= ALONE))
		s->best = as_stretch(server, &found);
	pthread_mutex_unlock(&s->lock);
	return 0;
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
	const struct fleet *f = s->q->fleet;
	int r = 0;

	for (size_t i = 0; i < f->servers.n; i++)
		for (size_t c = 0; c < f->counters.n; c++)
			s->searched[i * f->counters.n + c] = !is_asked(s->q, i, c);
	for (size_t c = 0; c < f->counters.n && r == 0 && !together; c++)
		if (s->q->counter < 0 || (size_t)s->q->counter == c)
			r = search_relative(s, c);
	return r < 0 ? r : parallel_run(s->q->threads, f->servers.n, search_alone, s);
}

static int search_fleet(const struct fleet_question *q, bool together, struct fleet_stretches *all, struct fleet_stretch *ret_best)
{
	const struct fleet *f = q->fleet;
	struct fleet_question early = about_first_quarter(q);
	struct search s = {.q = q, .all = all, .lock = PTHREAD_MUTEX_INITIALIZER};
	uint32_t rows = 0;
	int r = fleet_series_open(&early, &s.series);

	for (size_t i = 0; i < f->servers.n; i++)
		rows = f->servers.v[i].n > rows ? f->servers.v[i].n : rows;
	s.wander = malloc((f->servers.n + 1) * sizeof(*s.wander));
	s.sorted = malloc((f->servers.n + 1) * sizeof(*s.sorted));
	s.copy = malloc(((size_t)rows + 1) * sizeof(*s.copy));
	s.away = malloc(((size_t)rows + 1) * sizeof(*s.away));
	s.searched = malloc(f->servers.n * f->counters.n + 1);
	if (!s.wander || !s.sorted || !s.copy || !s.away || !s.searched)
		r = -ENOMEM;
	r = r ?: search_all(&s, together);
	fleet_series_close(&s.series);
	select_room_free(&s.room);
	FREE_ALL(s.wander, s.sorted, s.copy, s.away, s.searched);
	*ret_best = s.best;
	return r;
}

int fleet_window_find(const struct fleet_question *q, bool together, struct fleet_stretch *ret)
{
	struct fleet_stretch best;
	int r = search_fleet(q, together, NULL, &best);

	if (r < 0)
		return r;
	if (best.span.to <= best.span.from)
		return -ENODATA;
	*ret = best;
	if (ret->span.to - ret->span.from < 3 * q->fleet->interval) /* at the edges of the data a window of one row cannot be judged */
		ret->span.to = ret->span.from + 3 * q->fleet->interval;
	return 0;
}

int fleet_stretches_find(const struct fleet_question *q, struct fleet_stretches *ret)
{
	struct fleet_stretch unused;

	return search_fleet(q, false, ret, &unused);
}

/* --- all the time --- */

/* Those that are there; how many. */
static size_t levels_of_group(const struct fleet_question *q, const struct fleet_peers *p, int group, const double *levels, float *to)
{
	size_t n = 0;

	for (size_t i = 0; i < q->fleet->servers.n; i++)
		if (p->group.v[i] == group && !isnan(levels[i]))
			to[n++] = (float)levels[i];
	return n;
}

/* The levels of one group's servers; NaN = none. */
static int compare_group(const struct fleet_question *q, const struct fleet_peers *p, int group, size_t counter, const double *levels,
			 float *room, struct fleet_findings *ret)
{
	double middle, spread;
	size_t n = levels_of_group(q, p, group, levels, room);
	int r = 0;

	if (n < FLEET_PEERS_MIN)
		return 0;
	middle = (double)columns_select(room, n, n / 2);
	for (size_t i = 0, k = 0; i < q->fleet->servers.n; i++)
		if (p->group.v[i] == group && !isnan(levels[i]))
			room[k++] = (float)fabs(levels[i] - middle);
	spread = fmax(1.4826 * (double)columns_select(room, n, n / 2), 0.02 * fabs(middle));
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
		if (x.score >= LEVELS_FAR * (1 + FEW_LEVELS / (double)n))
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

			levels[i] = all.v ? columns_median(&all, 1, &select) : NAN;
		}
		for (size_t g = 0; g < p.groups && r == 0; g++)
			r = compare_group(q, &p, (int)g, c, levels, room, ret);
	}
	fleet_peers_free(&p);
	fleet_findings_sort(ret);
	return r;
}
