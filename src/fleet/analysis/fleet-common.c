#include "fleet/analysis/fleet-common.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/analysis/fleet-align.h"
#include "fleet/analysis/fleet-peers.h"
#include "lib/data/cleanup.h"

#define SIMILAR_LEAST  3 /* servers that do the same work */
#define UNLIKE_LEAST 5
#define SHARE	     0.8 /* of them */
#define SIDE_ROWS    15 /* of which the medians on both sides of an edge are compared; */
#define SIDE_SHORT   3	/* those of a short incident */
#define FAR	     8.0 /* robust standard deviations of steps: chance reaches 5 in a hundred thousand rows */
#define LARGER	     1.3 /* times the RARE share of all other steps */
#define RARE	     0.99
#define SIZE	     0.1 /* of a server's median: less is not an incident of all */
#define STILL	     0.5 /* of an edge: the server took it; it leads back; the level is still there */

struct search {
	const struct fleet *f;
	struct fleet_span window;
	struct fleet_alignment align;
	const float **values; /* by server: at all points; NULL: it does not count */
	double *level; /* by server: its median */
	float *room; /* points of each server */
	float *line, *steps, *copy; /* by point: the common level; its steps; room */
	const bool *members;
	struct select_room select;
	struct fleet_common best;
	struct fleet_stretches *all; /* of several servers; NULL: the best one is looked for */
	int result;
};

static double middle(struct search *s, const float *v, size_t n)
{
	const struct piece piece = {v, n};

	return columns_median(&piece, 1, &s->select);
}

/* How many servers have the counter. */
static size_t gather(struct search *s, size_t counter)
{
	size_t n = 0;

	for (size_t i = 0; i < s->f->servers.n; i++) {
		s->values[i] = s->members[i] ? fleet_aligned_values(&s->align, s->f, i, counter, s->room + i * s->align.n) : NULL;
		s->level[i] = s->values[i] ? middle(s, s->values[i], s->align.n) : NAN;
		if (!(s->level[i] > 0))
			s->values[i] = NULL;
		n += s->values[i] != NULL;
	}
	return n;
}

static void find_line(struct search *s)
{
	for (uint32_t k = 0; k < s->align.n; k++) {
		size_t n = 0;

		for (size_t i = 0; i < s->f->servers.n; i++)
			if (s->values[i] && !isnan(s->values[i][k]))
				s->copy[n++] = (float)((double)s->values[i][k] / s->level[i]);
		s->line[k] = (float)middle(s, s->copy, n);
	}
}

static double step_at(struct search *s, const float *v, uint32_t at, uint32_t side)
{
	return middle(s, v + at, side) - middle(s, v + at - side, side);
}

static bool is_farthest(const struct search *s, uint32_t at, uint32_t side)
{
	for (uint32_t k = at - side; k <= at + side && k < s->align.n; k++)
		if (fabsf(s->steps[k]) > fabsf(s->steps[at]) || (k < at && fabsf(s->steps[k]) == fabsf(s->steps[at])))
			return false;
	return true;
}

/* The edge that leads back, or the end of the data. */
static uint32_t find_end(const struct search *s, uint32_t begin, uint32_t side)
{
	float back = (float)-STILL * s->steps[begin];
	uint32_t k = begin + 1, end;

	while (k < s->align.n && !(back > 0 ? s->steps[k] >= back : s->steps[k] <= back))
		k++;
	end = k;
	for (; k < s->align.n && k <= end + side; k++)
		if (s->steps[k] / s->steps[end] > 1)
			end = k;
	return end;
}

/* Whether an edge to the other side lies nearer before this one than its end, back to `from`: then this one leads back. */
static bool leads_back(const struct search *s, uint32_t from, uint32_t begin, uint32_t end)
{
	uint32_t k = begin - from < end - begin ? from : begin - (end - begin);

	while (k < begin && !(s->steps[k] / s->steps[begin] <= (float)-STILL))
		k++;
	return k < begin;
}

/* The size below which nearly all steps remain but those at the edges of [begin, end). */
static double rare_step(struct search *s, uint32_t begin, uint32_t end, uint32_t side)
{
	size_t n = 0;
	struct piece piece = {s->copy, 0};

	for (uint32_t k = 0; k < s->align.n; k++)
		if (!isnan(s->steps[k]) && (k + side < begin || (k > begin + side && k + side < end) || k > end + side))
			s->copy[n++] = fabsf(s->steps[k]);
	piece.n = n;
	return columns_quantile(&piece, 1, RARE, &s->select);
}

static bool most_took(struct search *s, uint32_t at, uint32_t side)
{
	size_t have = 0, took = 0;

	for (size_t i = 0; i < s->f->servers.n; i++) {
		if (!s->values[i])
			continue;
		have++;
		took += step_at(s, s->values[i], at, side) / s->level[i] / (double)s->steps[at] >= STILL;
	}
	return (double)took >= SHARE * (double)have;
}

/* Whether the common level stays on the edge's side of what was before it, for as long as it lasted. */
static bool stands(struct search *s, uint32_t begin, uint32_t end)
{
	uint32_t before = begin < end - begin ? begin : end - begin;
	double away = middle(s, s->line + begin, end - begin) - middle(s, s->line + begin - before, before);

	return away / (double)s->steps[begin] >= STILL;
}

static bool in_window(const struct search *s, struct fleet_span x)
{
	int64_t from = x.from > s->window.from ? x.from : s->window.from, to = x.to < s->window.to ? x.to : s->window.to;

	return from < to && (x.from >= s->window.from || to - from >= (s->window.to - s->window.from) / 2);
}

/* Edges are looked for at two lengths, and what stands out alone may be in the list before. */
static bool is_known(const struct search *s, size_t server, size_t counter, struct fleet_span span)
{
	VEC_EACH(x, s->all->list)
		if (x->server == (int)server && x->counter == (int)counter && x->span.from < span.to && x->span.to > span.from)
			return true;
	return false;
}

static void take_all(struct search *s, size_t counter, double score, struct fleet_span span)
{
	for (size_t i = 0; i < s->f->servers.n && s->result == 0; i++)
		if (s->values[i] && !is_known(s, i, counter, span))
			s->result = VEC_PUSH(s->all->list, ((struct fleet_stretch){(int)i, (int)counter, score, span, false}));
}

/* Takes what begins at `at`, if it is an incident and better than the best; those before it ended at `from`. The point with which it ends; `at`: it begins no incident. */
static uint32_t try_edge(struct search *s, size_t counter, size_t servers, uint32_t from, uint32_t at, uint32_t side, double normal)
{
	uint32_t end = find_end(s, at, side);
	struct fleet_span span = {s->align.ts + at * s->align.d, s->align.ts + end * s->align.d};
	double size = fabs((double)s->steps[at]), score = size / normal;

	if (end - at > s->align.n / 2 || !is_farthest(s, at, side) || leads_back(s, from, at, end) || !stands(s, at, end) || !most_took(s, at, side) ||
	    size < LARGER * rare_step(s, at, end, side))
		return at;
	if (s->all)
		take_all(s, counter, score, span);
	if (score > s->best.score && in_window(s, span)) {
		s->best.counter = (int)counter;
		s->best.servers = servers;
		s->best.score = score;
		s->best.span = span;
		memcpy(s->best.members, s->members, s->f->servers.n * sizeof(*s->members));
	}
	return end;
}

/* In the order of time: the edge with which an incident ends begins no other. */
static void search_edges(struct search *s, size_t counter, size_t servers, uint32_t side)
{
	double normal;
	size_t n = 0;

	for (uint32_t k = 0; k < s->align.n; k++) {
		s->steps[k] = k >= side && k + side <= s->align.n ? (float)step_at(s, s->line, k, side) : NAN;
		if (!isnan(s->steps[k]))
			s->copy[n++] = fabsf(s->steps[k]);
	}
	normal = fmax(middle(s, s->copy, n) / 0.6745, USUAL_FLOOR);
	for (uint32_t k = side, from = 0, end; k + side <= s->align.n; k++) {
		end = fabs((double)s->steps[k]) >= fmax(FAR * normal, SIZE) ? try_edge(s, counter, servers, from, k, side, normal) : k;
		if (end > k)
			from = k = end + side;
	}
}

static void search_members(struct search *s, int counter, size_t least)
{
	for (size_t c = 0; c < s->f->counters.n; c++) {
		size_t n = counter < 0 || (size_t)counter == c ? gather(s, c) : 0;

		if (n < least)
			continue;
		find_line(s);
		search_edges(s, c, n, SIDE_ROWS);
		if (least > 1) /* bursts of single servers are many */
			search_edges(s, c, n, SIDE_SHORT);
	}
}

/* Single servers are many: they are not looked at in a window of fewer rows than an edge has. */
static bool is_long(const struct search *s)
{
	return s->window.from == INT64_MIN || s->window.to - s->window.from >= SIDE_ROWS * s->align.d;
}

/* Each group of servers that do the same work, and (not `similar`) all of them, and each single one where there is nothing in common. */
static int search_groups(struct search *s, int counter, bool similar)
{
	size_t servers = s->f->servers.n;
	_cleanup_free_ bool *members = calloc(servers + 1, sizeof(*members));
	struct fleet_peers peers;
	int r = members ? fleet_peers_find(s->f, &peers) : -ENOMEM;

	if (r < 0)
		return r;
	s->members = members;
	for (size_t g = 0; g < peers.groups; g++) {
		for (size_t i = 0; i < servers; i++)
			members[i] = peers.group.v[i] == (int)g;
		search_members(s, counter, SIMILAR_LEAST);
	}
	memset(members, true, servers);
	if (peers.groups > 1 && !similar)
		search_members(s, counter, UNLIKE_LEAST);
	for (size_t i = 0; i < servers && !similar && !s->all && is_long(s) && s->best.servers < 2; i++) {
		memset(members, false, servers);
		members[i] = true;
		search_members(s, counter, 1);
	}
	fleet_peers_free(&peers);
	return 0;
}

static int search_fleet(const struct fleet *f, int counter, bool similar, struct fleet_span window, struct fleet_stretches *all, struct fleet_common *ret)
{
	size_t servers = f->servers.n + 1, points;
	struct search s = {.f = f, .window = window, .all = all};
	int r = fleet_align_best(f, (struct fleet_span){INT64_MIN, INT64_MAX}, &s.align);

	if (r < 0)
		return r == -E2BIG ? -ENODATA : r;
	points = (s.align.n > servers ? s.align.n : servers) + 1;
	s.values = calloc(servers, sizeof(*s.values));
	s.level = calloc(servers, sizeof(*s.level));
	s.room = calloc(servers * points, sizeof(*s.room));
	s.line = calloc(points, sizeof(*s.line));
	s.steps = calloc(points, sizeof(*s.steps));
	s.copy = calloc(points, sizeof(*s.copy));
	s.best.members = calloc(servers, sizeof(*s.best.members));
	r = s.values && s.level && s.room && s.line && s.steps && s.copy && s.best.members ? search_groups(&s, counter, similar) : -ENOMEM;
	fleet_alignment_free(&s.align);
	select_room_free(&s.select);
	FREE_ALL(s.values, s.level, s.room, s.line, s.steps, s.copy);
	r = r ?: s.result;
	if (r < 0 || !s.best.servers) {
		free(s.best.members);
		return r < 0 ? r : -ENODATA;
	}
	*ret = s.best;
	return 0;
}

int fleet_common_find(const struct fleet *f, int counter, bool similar, struct fleet_span window, struct fleet_common *ret)
{
	return search_fleet(f, counter, similar, window, NULL, ret);
}

int fleet_common_each(const struct fleet *f, struct fleet_stretches *all)
{
	struct fleet_common best;
	int r = search_fleet(f, -1, false, (struct fleet_span){INT64_MIN, INT64_MAX}, all, &best);

	if (r == 0)
		free(best.members);
	return r;
}
