#include "analysis/span/span-own.h"

#include <math.h>

#include "analysis/span/span-strata.h"
#include "stat/welch.h"

#define FAN_OUT	   1.25 /* times as many calls a call: more than this is the caller's doing */
#define SIDE_BY_SIDE 1.2 /* calls at a time, at least, that were side by side */
#define IN_TURN	   1.05 /* ... and, at most, that now run one after another */

/* One vertex on both sides: 0 = the other versions, 1 = the suspect's. */
struct vertex_sides {
	struct moments self[2], duration[2];
	wide busy[2], wall[2], path[2];
	uint64_t requests[2]; /* samples */
};

static void gather(const struct forest *f, const struct suspect_version *s, uint32_t vertex, struct vertex_sides *ret)
{
	const struct bucket *b = &f->buckets.v[s->bucket];

	*ret = (struct vertex_sides){};
	for (size_t j = 0; j < b->groups.n; j++) {
		const struct forest_group *g = &b->groups.v[j];
		enum span_side side = suspect_side(f, s, g);
		const struct cell *c = side == SIDE_NONE ? NULL : forest_group_cell(g, vertex);
		bool own = side == SIDE_CANDIDATE;

		if (!c)
			continue;
		moments_merge(&ret->self[own], &c->self);
		moments_merge(&ret->duration[own], &c->duration);
		ret->busy[own] += c->busy;
		ret->wall[own] += c->wall;
		ret->path[own] += c->path.sum;
		ret->requests[own] += c->path.samples;
	}
}

/* The means of both sides where both ran, in the suspect's proportions, and how many calls they are as sure as; false: they share too
 * little. */
static bool level(const struct forest *f, const struct suspect_version *s, uint32_t vertex, const struct strata *strata, double means[2],
		  double n[2])
{
	const struct bucket *b = &f->buckets.v[s->bucket];
	double counts[2][STRATA_MOST] = {}, sums[2][STRATA_MOST] = {}, shared = 0, squares = 0;

	for (size_t j = 0; j < b->groups.n && strata->n > 1; j++) {
		enum span_side side = suspect_side(f, s, &b->groups.v[j]);

		if (side != SIDE_NONE)
			strata_add_vertex(strata, &b->groups.v[j], vertex, counts[side == SIDE_CANDIDATE], sums[side == SIDE_CANDIDATE]);
	}
	if (strata->n < 2 || strata_shared(strata, counts[1], counts[0]) < STRATA_SHARED)
		return false;
	means[0] = means[1] = 0;
	for (size_t h = 0; h < strata->n; h++) {
		if (counts[0][h] < STRATUM_LEAST)
			continue;
		shared += counts[1][h];
		squares += counts[1][h] * counts[1][h] / counts[0][h];
		means[0] += counts[1][h] * sums[0][h] / counts[0][h];
		means[1] += sums[1][h];
	}
	if (shared < SPAN_LEAST)
		return false;
	means[0] /= shared;
	means[1] /= shared;
	n[0] = fmin(n[0], shared * shared / squares);
	n[1] = fmin(n[1], shared);
	return true;
}

/* Calls of one request are alike: they count for no more than requests. */
static double sure_calls(const struct moments *m, uint64_t requests)
{
	return fmin(moments_effective(m), (double)requests);
}

/* ns^2 by which the sum of differences is unsure. */
static double add_self(const struct forest *f, const struct suspect_version *s, uint32_t vertex, const struct vertex_sides *x, struct own_time *ret)
{
	double n[2] = {sure_calls(&x->self[0], x->requests[0]), sure_calls(&x->self[1], x->requests[1])};
	double means[2] = {moments_mean(&x->self[0]), moments_mean(&x->self[1])};
	double rate = moments_count(&x->self[1]) / s->requests;
	double on_path = x->self[1].sum ? fmin(1, (double)((long double)x->path[1] / (long double)x->self[1].sum)) : 0;

	for (int way = 0; way < STRATA_WAYS; way++) {
		const struct strata strata = strata_by(&f->buckets.v[s->bucket], way);

		if (level(f, s, vertex, &strata, means, n))
			break;
	}
	ret->others += rate * on_path * means[0];
	ret->mean += rate * on_path * means[1];
	return rate * rate * on_path * on_path * (moments_variance(&x->self[0]) / n[0] + moments_variance(&x->self[1]) / n[1]);
}

static double per(wide sum, const struct moments *of)
{
	return of->count ? (double)((long double)sum / (long double)of->count) : 0;
}

/* ns a call of `parent` for more calls of this vertex, or because they run one after another; *walls: what they cover together. */
static double structure_of_child(const struct vertex_sides *parent, const struct vertex_sides *x, double walls[2])
{
	double rate[2], side_by_side[2], wall[2], extra = 0;

	for (int side = 0; side < 2; side++) {
		rate[side] = moments_count(&x->duration[side]) / fmax(1, moments_count(&parent->duration[side]));
		wall[side] = per(x->wall[side], &parent->duration[side]);
		side_by_side[side] = x->wall[side] ? (double)((long double)x->duration[side].sum / (long double)x->wall[side]) : 1;
		walls[side] += wall[side];
	}
	if (rate[1] > FAN_OUT * rate[0] && rate[1] > 0)
		extra = wall[1] * (1 - rate[0] / rate[1]);
	else if (side_by_side[0] >= SIDE_BY_SIDE && side_by_side[1] <= IN_TURN)
		extra = wall[1] - moments_mean(&x->duration[1]) * rate[1] / side_by_side[0];
	return fmax(0, extra);
}

/* What the service does with the calls that one of its vertices makes, ns a call of it. */
static double structure_of(const struct forest *f, const struct suspect_version *s, uint32_t vertex, const struct vertex_sides *parent)
{
	double walls[2] = {}, extra = 0, overlap[2];

	for (uint32_t v = vertex + 1; v < f->vertices.n && f->vertices.v[v].depth > f->vertices.v[vertex].depth; v++) {
		struct vertex_sides x;

		if (f->vertices.v[v].parent != vertex)
			continue;
		gather(f, s, v, &x);
		extra += structure_of_child(parent, &x, walls);
	}
	for (int side = 0; side < 2; side++)
		overlap[side] = parent->busy[side] ? walls[side] / per(parent->busy[side], &parent->duration[side]) : 1;
	if (overlap[0] >= SIDE_BY_SIDE && overlap[1] <= IN_TURN)
		extra += fmax(0, per(parent->busy[1], &parent->duration[1]) - walls[1] / overlap[0]);
	return extra;
}

bool own_time_find(const struct forest *f, const struct suspect_version *s, struct own_time *ret)
{
	double variance = 0;
	bool any = false;

	*ret = (struct own_time){.p = 1};
	for (uint32_t v = 0; v < f->vertices.n; v++) {
		struct vertex_sides x;

		if (f->vertices.v[v].service != s->package)
			continue;
		gather(f, s, v, &x);
		if (!x.self[1].count)
			continue;
		any = true;
		if (sure_calls(&x.self[0], x.requests[0]) < 2 || sure_calls(&x.self[1], x.requests[1]) < 2)
			continue;
		variance += add_self(f, s, v, &x, ret);
		if (f->vertices.v[v].kind == VERTEX_CALL)
			ret->structure += structure_of(f, s, v, &x) * moments_count(&x.duration[1]) / s->requests;
	}
	if (variance > 0 && ret->mean > ret->others)
		ret->p = welch_normal_p((ret->mean - ret->others) / sqrt(variance));
	return any;
}
