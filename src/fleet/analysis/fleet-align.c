#include "fleet/analysis/fleet-align.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"

#define LATE_SHARE  20		     /* a twentieth of the window */
#define ONE_MOMENT  NS_PER_SEC	     /* the distance of points where no server has two rows */
#define POINTS_MOST (UINT32_MAX - 1) /* one more would be FLEET_NO_ROW */
#define CELLS_FEW   (16u << 20)	     /* points x servers that any fleet may have: 64 MB of float32 */
#define CELLS_ROW   16		     /* and for each row that there is */

void fleet_alignment_free(struct fleet_alignment *a)
{
	VEC_FREE_EACH(a->servers, free(each->row));
}

ORDER(compare_times, int64_t, CMP(*a, *b))

static int64_t median_time(int64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare_times);
	return v[(n - 1) / 2];
}

struct ends {
	int64_t *first, *last;
	size_t n;
};

static int find_ends(const struct fleet *f, struct fleet_span window, struct fleet_alignment *a, struct ends *e)
{
	e->first = malloc((f->servers.n + 1) * sizeof(*e->first));
	e->last = malloc((f->servers.n + 1) * sizeof(*e->last));
	if (!e->first || !e->last)
		return -ENOMEM;
	for (size_t i = 0; i < f->servers.n; i++) {
		struct fleet_aligned_server s = {};
		uint32_t rows = fleet_rows(&f->servers.v[i], window.from, window.to, &s.first);

		s.used = rows > 0;
		if (VEC_PUSH(a->servers, s) < 0)
			return -ENOMEM;
		if (!rows)
			continue;
		e->first[e->n] = f->servers.v[i].time[s.first];
		e->last[e->n++] = f->servers.v[i].time[s.first + rows - 1];
	}
	return e->n ? 0 : -ENODATA;
}

static void mark_late(const struct fleet *f, struct fleet_span window, struct fleet_alignment *a, struct ends *e)
{
	int64_t begin = median_time(e->first, e->n), end = median_time(e->last, e->n);
	int64_t much = (end - begin) / LATE_SHARE > 2 * f->interval ? (end - begin) / LATE_SHARE : 2 * f->interval;

	for (size_t i = 0; i < f->servers.n; i++) {
		struct fleet_aligned_server *s = &a->servers.v[i];
		uint32_t first, rows = fleet_rows(&f->servers.v[i], window.from, window.to, &first);

		if (!rows)
			continue;
		s->late = f->servers.v[i].time[first] > begin + much;
		s->died = f->servers.v[i].time[first + rows - 1] < end - much;
		s->used = !s->late && !s->died;
	}
}

static size_t used(const struct fleet_alignment *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->servers.n; i++)
		n += a->servers.v[i].used;
	return n;
}

/* [ts, tf] of those that are used. */
static void common_time(const struct fleet *f, struct fleet_span window, struct fleet_alignment *a)
{
	int64_t steps;

	a->ts = INT64_MIN;
	a->tf = INT64_MAX;
	for (size_t i = 0; i < f->servers.n; i++) {
		const struct fleet_server *s = &f->servers.v[i];
		uint32_t first, rows = fleet_rows(s, window.from, window.to, &first);

		if (!a->servers.v[i].used)
			continue;
		a->ts = s->time[first] > a->ts ? s->time[first] : a->ts;
		a->tf = s->time[first + rows - 1] < a->tf ? s->time[first + rows - 1] : a->tf;
	}
	a->d = f->interval > 0 ? f->interval : ONE_MOMENT;
	steps = a->tf > a->ts ? (a->tf - a->ts) / a->d : 0;
	a->n_most = steps < POINTS_MOST ? (uint32_t)steps : POINTS_MOST;
}

/* A point takes memory on each server: a few rows that lie years apart must not take more of it than many rows do. */
static bool too_far_apart(const struct fleet *f, const struct fleet_alignment *a)
{
	uint64_t rows = 0, most;

	for (size_t i = 0; i < f->servers.n; i++)
		rows += f->servers.v[i].n;
	most = rows * CELLS_ROW > CELLS_FEW ? rows * CELLS_ROW : CELLS_FEW;
	return a->n_most == POINTS_MOST || ((uint64_t)a->n_most + 1) * f->servers.n > most;
}

static int64_t skew_around(const struct fleet_server *s, const struct fleet_alignment *a, const struct fleet_aligned_server *x,
			   uint32_t from, uint32_t to)
{
	int64_t off[32];
	size_t n = 0;

	for (uint32_t i = 0; i < 32 && to > from; i++) {
		uint32_t k = from + (uint32_t)((uint64_t)i * (to - from) / 32);
		uint32_t row = x->row ? x->row[k] : x->first + k;

		if (row != FLEET_NO_ROW && row < s->n)
			off[n++] = s->time[row] - (a->ts + (int64_t)k * a->d);
	}
	return n ? median_time(off, n) : 0;
}

static void find_skew(const struct fleet *f, struct fleet_alignment *a)
{
	for (size_t i = 0; i < f->servers.n; i++) {
		struct fleet_aligned_server *x = &a->servers.v[i];
		const struct fleet_server *s = &f->servers.v[i];

		if (!x->used)
			continue;
		x->skew = (skew_around(s, a, x, 0, a->n) + a->d / 2) % a->d - a->d / 2;
	}
}

/* Equation 3's N, and the N' that all have, from each one's first row at or after ts. */
static void by_index(const struct fleet *f, struct fleet_alignment *a)
{
	a->n = a->n_most;
	for (size_t i = 0; i < f->servers.n; i++) {
		struct fleet_aligned_server *x = &a->servers.v[i];
		uint32_t rows;

		if (!x->used)
			continue;
		rows = fleet_rows(&f->servers.v[i], a->ts, a->tf + 1, &x->first);
		a->n = rows < a->n ? rows : a->n;
		x->missing = rows < a->n_most ? a->n_most - rows : 0;
	}
}

/* Each row belongs to the point that it lies nearest to. */
static int map_by_time(const struct fleet_alignment *a, const struct fleet_server *s, struct fleet_aligned_server *x)
{
	x->row = malloc(((size_t)a->n + 1) * sizeof(*x->row));
	if (!x->row)
		return -ENOMEM;
	memset(x->row, 0xff, ((size_t)a->n + 1) * sizeof(*x->row));
	x->missing = a->n;
	for (uint32_t row = 0; row < s->n; row++) {
		int64_t k = (s->time[row] - a->ts + a->d / 2) / a->d;

		if (s->time[row] < a->ts - a->d / 2 || k < 0 || k >= a->n)
			continue;
		x->missing -= x->row[k] == FLEET_NO_ROW;
		x->row[k] = row;
	}
	return 0;
}

static int by_time(const struct fleet *f, struct fleet_alignment *a)
{
	int r = too_far_apart(f, a) ? -E2BIG : 0;

	a->n = a->tf >= a->ts ? a->n_most + 1 : 0;
	for (size_t i = 0; i < f->servers.n && r == 0; i++)
		if (a->servers.v[i].used)
			r = map_by_time(a, &f->servers.v[i], &a->servers.v[i]);
	return r;
}

/* Those that were not there all the time. */
static int admit_partly(const struct fleet *f, struct fleet_alignment *a)
{
	int r = 0;

	for (size_t i = 0; i < f->servers.n && r == 0 && a->n; i++) {
		struct fleet_aligned_server *x = &a->servers.v[i];

		if (x->used || (!x->late && !x->died))
			continue;
		r = map_by_time(a, &f->servers.v[i], x);
		x->used = r == 0 && x->missing < a->n;
	}
	return r;
}

size_t fleet_aligned_partly(const struct fleet_alignment *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->servers.n; i++)
		n += a->servers.v[i].used && (a->servers.v[i].late || a->servers.v[i].died);
	return n;
}

/* Each step from row to row is so many intervals, and a little: the drift is the sum of what is left. Rows that are missing do not hide it. */
static void find_drift(const struct fleet *f, struct fleet_span window, struct fleet_alignment *a)
{
	for (size_t i = 0; i < f->servers.n; i++) {
		const struct fleet_server *s = &f->servers.v[i];
		struct fleet_aligned_server *x = &a->servers.v[i];
		uint32_t first, n = x->used ? fleet_rows(s, window.from, window.to, &first) : 0;

		for (uint32_t k = first + 1; n && k < first + n; k++) {
			int64_t step = s->time[k] - s->time[k - 1];

			x->drift += step - (step + a->d / 2) / a->d * a->d;
			x->gaps = x->gaps || step > a->d + a->d / 2;
		}
	}
}

int fleet_align(const struct fleet *f, struct fleet_span window, enum fleet_align_by by, struct fleet_alignment *ret)
{
	struct fleet_alignment a = {.by = by};
	struct ends e = {};
	int r = find_ends(f, window, &a, &e);

	if (r == 0) {
		if (by != FLEET_LITERALLY)
			mark_late(f, window, &a, &e);
		for (size_t i = 0; used(&a) * 2 < e.n && i < a.servers.n; i++)
			a.servers.v[i].used = a.servers.v[i].used || a.servers.v[i].late || a.servers.v[i].died;
		common_time(f, window, &a);
		if (by != FLEET_BY_TIME)
			by_index(f, &a);
		else
			r = by_time(f, &a);
		r = r ?: admit_partly(f, &a);
	}
	FREE_ALL(e.first, e.last);
	if (r == 0 && a.n < 1)
		r = -ENODATA;
	if (r < 0) {
		fleet_alignment_free(&a);
		return r;
	}
	find_skew(f, &a);
	find_drift(f, window, &a);
	*ret = a;
	return 0;
}

/* Pairs a server's rows with the points in their order, whatever its clock says. */
static void follow_index(const struct fleet_alignment *a, uint32_t first, uint32_t n, struct fleet_aligned_server *x)
{
	for (uint32_t k = 0; k < a->n; k++)
		x->row[k] = k < n ? first + k : FLEET_NO_ROW;
	x->missing = n < a->n ? a->n - n : 0;
}

int fleet_align_best(const struct fleet *f, struct fleet_span window, struct fleet_alignment *ret)
{
	int r = fleet_align(f, window, FLEET_BY_TIME, ret);

	for (size_t i = 0; r == 0 && i < f->servers.n; i++) {
		struct fleet_aligned_server *x = &ret->servers.v[i];
		uint32_t first, n = x->used ? fleet_rows(&f->servers.v[i], ret->ts - ret->d / 2, window.to, &first) : 0;

		if (n && !x->gaps && llabs(x->drift) >= ret->d / 2 && !x->late && !x->died)
			follow_index(ret, first, n, x);
	}
	return r;
}

const float *fleet_aligned_values(const struct fleet_alignment *a, const struct fleet *f, size_t server, size_t counter,
				  float *room)
{
	const struct fleet_aligned_server *s = &a->servers.v[server];
	const float *v = f->servers.v[server].column[counter];

	if (!v || !s->used)
		return NULL;
	if (!s->row)
		return v + s->first;
	if (s->missing == 0 && s->row[a->n - 1] - s->row[0] == a->n - 1)
		return v + s->row[0];
	for (uint32_t k = 0; k < a->n; k++)
		room[k] = s->row[k] == FLEET_NO_ROW ? NAN : v[s->row[k]];
	return room;
}
