#include "spans/compare/span-own.h"

#include <math.h>

#include "lib/stat/welch.h"
#include "spans/compare/span-strata.h"

#define FAN_OUT	   1.25 /* times as many calls a call: more than this is the caller's doing */
#define SIDE_BY_SIDE 1.2 /* calls at a time, at least, that were side by side */
#define IN_TURN	   1.05 /* ... and, at most, that now run one after another */

/* One vertex on both sides: 0 = the other versions, 1 = the suspect's. */
struct vertex_sides {
	struct moments self[2], duration[2];
	wide busy[2], wall[2], path[2];
	uint64_t requests[2];	  /* samples */
	uint64_t asynchronous[2]; /* calls, adjusted */
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
		ret->asynchronous[own] += c->asynchronous;
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

/* The critical path's share of the calls' own time; of a call that no caller waits for (a message) all of it counts. */
static double share_that_counts(const struct vertex_sides *x)
{
	if (2 * x->asynchronous[1] > x->duration[1].count)
		return 1;
	return x->self[1].sum ? fmin(1, (double)((long double)x->path[1] / (long double)x->self[1].sum)) : 0;
}

/* ns^2 by which the sum of differences is unsure. */
static double add_self(const struct forest *f, const struct suspect_version *s, uint32_t vertex, const struct vertex_sides *x, struct own_time *ret)
{
	double n[2] = {sure_calls(&x->self[0], x->requests[0]), sure_calls(&x->self[1], x->requests[1])};
	double means[2] = {moments_mean(&x->self[0]), moments_mean(&x->self[1])};
	double rate = moments_count(&x->self[1]) / s->requests;
	double on_path = share_that_counts(x);

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

void own_time_find(const struct forest *f, const struct suspect_version *s, struct own_time *ret)
{
	double variance = 0;

	*ret = (struct own_time){.p = 1};
	for (uint32_t v = 0; v < f->vertices.n; v++) {
		struct vertex_sides x;

		if (f->vertices.v[v].service != s->package)
			continue;
		gather(f, s, v, &x);
		if (sure_calls(&x.self[0], x.requests[0]) < 2 || sure_calls(&x.self[1], x.requests[1]) < 2)
			continue;
		variance += add_self(f, s, v, &x, ret);
		if (f->vertices.v[v].kind == VERTEX_CALL)
			ret->structure += structure_of(f, s, v, &x) * moments_count(&x.duration[1]) / s->requests;
	}
	if (variance > 0 && ret->mean > ret->others)
		ret->p = welch_normal_p((ret->mean - ret->others) / sqrt(variance));
}

/* --- failures ----------------------------------------------------------------------------------------------------------- */

/* Calls or requests of both sides. */
struct failing {
	double calls[2], samples[2], failed[2];
};

/* When the suspect's version ran: versions that came and went at other times tell nothing of what happened then. */
struct own_times {
	int64_t first, last;
};

static struct own_times times_of(const struct forest *f, const struct suspect_version *s)
{
	const struct bucket *b = &f->buckets.v[s->bucket];
	struct own_times t = {INT64_MAX, INT64_MIN};

	for (size_t j = 0; j < b->groups.n; j++) {
		const struct forest_group *g = &b->groups.v[j];

		if (suspect_side(f, s, g) != SIDE_CANDIDATE)
			continue;
		t.first = g->first_seen < t.first ? g->first_seen : t.first;
		t.last = g->last_seen > t.last ? g->last_seen : t.last;
	}
	return t;
}

static bool ran_then(const struct own_times *t, const struct forest_group *g)
{
	return g->last_seen >= t->first && g->first_seen <= t->last;
}

static double failed(uint64_t weight)
{
	return (double)weight / (double)SPAN_WEIGHT_ONE;
}

/* Failures of a call less those of what it calls. */
static double own_errors(const struct forest *f, const struct forest_group *g, const struct cell *c)
{
	double own = failed(c->errors);

	for (uint32_t v = c->vertex + 1; own > 0 && v < f->vertices.n && f->vertices.v[v].depth > f->vertices.v[c->vertex].depth; v++) {
		const struct cell *below = f->vertices.v[v].parent == c->vertex ? forest_group_cell(g, v) : NULL;

		own -= below ? failed(below->errors) : 0;
	}
	return fmax(0, own);
}

/* vertex NO_VERTEX: whole requests. */
static void gather_failing(const struct forest *f, const struct suspect_version *s, const struct own_times *t, uint32_t vertex, struct failing *ret)
{
	const struct bucket *b = &f->buckets.v[s->bucket];

	*ret = (struct failing){};
	for (size_t j = 0; j < b->groups.n; j++) {
		const struct forest_group *g = &b->groups.v[j];
		enum span_side side = ran_then(t, g) ? suspect_side(f, s, g) : SIDE_NONE;
		const struct cell *c = vertex == NO_VERTEX ? NULL : forest_group_cell(g, vertex);
		const struct moments *m = c ? &c->duration : &g->total;

		if (side == SIDE_NONE || (!c && vertex != NO_VERTEX))
			continue;
		ret->calls[side == SIDE_CANDIDATE] += moments_count(m);
		ret->samples[side == SIDE_CANDIDATE] += moments_effective(m);
		ret->failed[side == SIDE_CANDIDATE] += c ? own_errors(f, g, c) : failed(g->errors);
	}
}

/* Adds one vertex; its variance. */
static double add_failing(const struct failing *x, double requests, double *seen, struct own_failures *ret)
{
	double rate = x->calls[1] / requests, share[2], pooled;

	if (x->samples[0] < SPAN_LEAST || !(x->samples[1] > 0))
		return 0;
	for (int side = 0; side < 2; side++)
		share[side] = x->failed[side] / x->calls[side];
	pooled = (share[0] * x->samples[0] + share[1] * x->samples[1]) / (x->samples[0] + x->samples[1]);
	*seen += share[1] * x->samples[1];
	ret->others += rate * share[0];
	ret->share += rate * share[1];
	return rate * rate * pooled * (1 - pooled) * (1 / x->samples[0] + 1 / x->samples[1]);
}

void own_failures_find(const struct forest *f, const struct suspect_version *s, struct own_failures *ret)
{
	const struct own_times times = times_of(f, s);
	double variance = 0, seen = 0;
	struct failing x;

	*ret = (struct own_failures){.p = 1};
	for (uint32_t v = 0; s->is_service && v < f->vertices.n; v++) {
		if (f->vertices.v[v].service != s->package || f->vertices.v[v].kind != VERTEX_CALL)
			continue;
		gather_failing(f, s, &times, v, &x);
		variance += add_failing(&x, s->requests, &seen, ret);
	}
	if (!s->is_service) {
		gather_failing(f, s, &times, NO_VERTEX, &x);
		variance += add_failing(&x, s->requests, &seen, ret);
	}
	if (variance > 0 && ret->share > ret->others && seen >= OWN_FAILURES)
		ret->p = welch_normal_p((ret->share - ret->others) / sqrt(variance));
}
