#include "spans/compare/span-own.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/data/order.h"
#include "lib/stat/fisher.h"
#include "lib/stat/robust.h"
#include "lib/stat/welch.h"
#include "spans/compare/span-strata.h"

#define FAN_OUT	   1.25 /* times as many calls a call: more than this is the caller's doing */
#define LOST_BY_ONE 0.5 /* of what overlaps less: so much of one call alone names it */

int own_calls_init(const struct forest *f, struct own_calls *ret)
{
	*ret = (struct own_calls){.f = f};
	return forest_owners(f, &ret->owners);
}

void own_calls_free(struct own_calls *c)
{
	free(c->owners);
	VEC_FREE(c->vertices);
}

ORDER(by_number, uint32_t, CMP(*a, *b))

int own_calls_of_bucket(struct own_calls *c, const struct bucket *b)
{
	size_t kept = 0;

	c->vertices.n = 0;
	for (size_t j = 0; j < b->groups.n; j++)
		for (size_t k = 0; k < b->groups.v[j].cells.n; k++)
			if (VEC_PUSH(c->vertices, b->groups.v[j].cells.v[k].vertex) < 0)
				return -ENOMEM;
	VEC_SORT(c->vertices, by_number);
	for (size_t i = 0; i < c->vertices.n; i++)
		if (!kept || c->vertices.v[kept - 1] != c->vertices.v[i])
			c->vertices.v[kept++] = c->vertices.v[i];
	c->vertices.n = kept;
	return 0;
}

#define SOME_TIMES   3	  /* the median of the other versions; then twice as much, and again */
#define SOME_STEPS   3
#define SOME_MORE    3.	  /* times as many calls are that slow, at least, */
#define SOME_LEAST   .005 /* ... and this share of them more */

/* One vertex on both sides: 0 = the other versions, 1 = the suspect's. */
struct vertex_sides {
	struct moments self[2], duration[2];
	wide called[2], busy[2], wall[2], path[2];
	uint64_t requests[2];	  /* samples */
	uint64_t asynchronous[2]; /* calls, adjusted */
};

static void gather(const struct forest *f, const struct suspect_version *s, uint32_t vertex, struct vertex_sides *ret)
{
	const struct bucket *b = &f->buckets.v[s->bucket];

	*ret = (struct vertex_sides){};
	VEC_EACH(g, b->groups) {
		enum span_side side = suspect_side(f, s, g);
		const struct cell *c = side == SIDE_NONE ? NULL : forest_group_cell(g, vertex);
		bool own = side == SIDE_CANDIDATE;

		if (!c)
			continue;
		moments_merge(&ret->self[own], &c->self);
		moments_merge(&ret->duration[own], &c->duration);
		ret->called[own] += c->called;
		ret->busy[own] += c->busy;
		ret->wall[own] += c->wall;
		ret->path[own] += c->path.sum;
		ret->requests[own] += c->path.samples;
		ret->asynchronous[own] += c->asynchronous;
	}
}

/* Calls of one request resemble each other: they count for no more than requests. */
static double sure_calls(const struct moments *m, uint64_t requests)
{
	return fmin(moments_effective(m), (double)requests);
}

/* The critical path's share of the calls' own time; of a call that no caller waits for (a message) all of it counts. */
static bool runs_behind(const struct vertex_sides *x)
{
	return 2 * x->asynchronous[1] > x->duration[1].count;
}

static double share_that_counts(const struct vertex_sides *x)
{
	if (runs_behind(x))
		return 1;
	return x->self[1].sum ? fmin(1, (double)((long double)x->path[1] / (long double)x->self[1].sum)) : 0;
}

/* Both sides' own time of a call, as sure as what `n` calls tell. */
struct own_difference {
	double means[2], n[2], variance; /* of the difference of the means, ns^2 */
};

/* Compares the calls of times at which both ran, where at least the share `least` of the version's calls is of such times; else all calls. Where less
 * than STRATA_SHARED is enough, the same hours of other days are not such times. Returns whether it compared such times. */
static bool find_difference(const struct forest *f, const struct suspect_version *s, uint32_t vertex, const struct vertex_sides *x, double least,
			    struct own_difference *ret)
{
	bool shared = false;

	*ret = (struct own_difference){};
	for (int side = 0; side < 2; side++) {
		ret->n[side] = sure_calls(&x->self[side], x->requests[side]);
		ret->means[side] = moments_mean(&x->self[side]);
	}
	for (int way = 0; way < STRATA_WAYS && !shared; way++) {
		const struct strata strata = strata_by(&f->buckets.v[s->bucket], way);
		struct suspect_times at;

		if (least < STRATA_SHARED && way == STRATA_BY_HOURS)
			continue;
		shared = suspect_at_same_times(f, s, &strata, vertex, least, &at) && at.n >= SPAN_LEAST;
		if (!shared)
			continue;
		ret->means[0] = at.others;
		ret->means[1] = at.mean;
		/* as sure as all of them are: adjusted counts stand for fewer samples, and the calls of one request resemble each other */
		ret->n[0] = fmin(ret->n[0], at.n_others * ret->n[0] / moments_count(&x->self[0]));
		ret->n[1] = fmin(ret->n[1] * at.share, at.n);
	}
	ret->variance = moments_variance(&x->self[0]) / ret->n[0] + moments_variance(&x->self[1]) / ret->n[1];
	return shared;
}

/* The probability of such a difference by chance where the call takes no longer; 1 where it takes no longer, or where it is not known. */
static double p_of(const struct own_difference *d)
{
	if (!(d->variance > 0) || d->n[0] < SPAN_LEAST || d->n[1] < SPAN_LEAST || d->means[1] <= d->means[0])
		return 1;
	return welch_normal_p((d->means[1] - d->means[0]) / sqrt(d->variance));
}

bool span_own_rose_at_same_times(const struct own_calls *calls, const struct suspect_version *s, const struct suspect_call *call)
{
	struct own_difference d;
	struct vertex_sides x;

	if (call->vertex == NO_VERTEX || call->reason != REASON_SLOWER)
		return false;
	gather(calls->f, s, call->vertex, &x);
	return find_difference(calls->f, s, call->vertex, &x, 0, &d) && p_of(&d) <= SPAN_Q &&
	       d.means[1] - d.means[0] >= CAUSE_KEEPS * (call->each - call->each_others);
}

static double calls_each(const struct vertex_sides *x, const struct vertex_sides *parent, int side)
{
	return moments_count(&x->duration[side]) / fmax(1, moments_count(&parent->duration[side]));
}

/* Keeps what adds most. */
static void keep_most(struct suspect_call *most, const struct suspect_call *one)
{
	if (one->gain > most->gain)
		*most = *one;
}

static struct suspect_call call_of(const struct forest *f, const struct suspect_version *s, uint32_t vertex, const struct own_difference *d)
{
	struct suspect_call one = {.vertex = vertex, .reason = REASON_SLOWER, .each = d->means[1], .each_others = d->means[0]};
	uint32_t above = f->vertices.v[vertex].parent;
	struct vertex_sides x, parent;

	if (above == NO_VERTEX)
		return one;
	gather(f, s, vertex, &x);
	gather(f, s, above, &parent);
	one.calls = calls_each(&x, &parent, 1);
	one.calls_others = calls_each(&x, &parent, 0);
	return one;
}

/* --- some of its calls --- */

/* Requests that go through the call, by what they spend in it on their critical path. */
struct through {
	VEC(double) took[2];
};

uint32_t own_call_text(const struct forest *f, uint32_t vertex)
{
	const struct vertex *v = &f->vertices.v[vertex];
	char text[2 * NAME_TEXT_MAX + 2];

	span_call_text(f->names, v->kind == VERTEX_EDGE ? v->caller : v->service, v->operation, text);
	return names_find(f->names, text);
}

static int gather_through(const struct forest *f, const struct suspect_version *s, uint32_t text, struct through *ret)
{
	const struct bucket *b = &f->buckets.v[s->bucket];

	VEC_EACH(g, b->groups) {
		enum span_side side = suspect_side(f, s, g);

		for (size_t i = 0; side != SIDE_NONE && i < g->requests.n; i++) {
			const struct sampled_request *r = &g->requests.v[i];

			for (size_t k = 0; k < r->marks.n && !r->marks.v[k].key; k++)
				if (r->marks.v[k].call == text && VEC_PUSH(ret->took[side == SIDE_CANDIDATE], (double)r->marks.v[k].path) < 0)
					return -ENOMEM;
		}
	}
	return 0;
}

static size_t count_above(const double *v, size_t n, double limit)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += v[i] > limit;
	return count;
}

static double judge_through(struct through *t, struct suspect_call *call)
{
	size_t n0 = t->took[0].n, n1 = t->took[1].n;
	double limit, least = 1;

	robust_sort(t->took[0].v, n0);
	limit = SOME_TIMES * robust_quantile(t->took[0].v, n0, .5);
	for (int step = 0; limit > 0 && step < SOME_STEPS; step++, limit *= 2) {
		size_t k0 = count_above(t->took[0].v, n0, limit), k1 = count_above(t->took[1].v, n1, limit);
		double share0 = (double)k0 / (double)n0, share1 = (double)k1 / (double)n1, p;

		if (share1 < SOME_MORE * share0 || share1 < share0 + SOME_LEAST)
			continue;
		p = SOME_STEPS * fisher_p((unsigned)k1, (unsigned)n1, (unsigned)(k0 + k1), (unsigned)(n0 + n1));
		if (p >= least)
			continue;
		least = p;
		call->beyond = limit;
		call->share = share1;
		call->share_others = share0;
	}
	return least;
}

/* In the sample of the requests: what share of them spends SOME_TIMES the median or more in the calls of a vertex by itself, of both sides, by
 * Fisher's exact test at several multiples. Fills share, share_others and beyond of *call; the chance of it, 1 = no more of them than before. */
static double find_some(const struct own_calls *calls, const struct suspect_version *s, uint32_t vertex, struct suspect_call *call)
{
	uint32_t text = calls->f->n_requests ? own_call_text(calls->f, vertex) : 0;
	struct through t = {};
	double p = 1;

	if (text && gather_through(calls->f, s, text, &t) == 0 && t.took[0].n >= SPAN_LEAST && t.took[1].n >= SPAN_LEAST)
		p = judge_through(&t, call);
	VEC_FREE(t.took[0]);
	VEC_FREE(t.took[1]);
	return p;
}

/* A call by itself: by its mean (`p`), or by some calls that take many times as long. */
static void judge_call(const struct own_calls *calls, const struct suspect_version *s, const struct suspect_call *call, double p, struct own_time *ret)
{
	struct suspect_call one = *call;
	/* more calls take more time together: that is reported as more calls */
	double some = one.calls > FAN_OUT * one.calls_others ? 1 : find_some(calls, s, one.vertex, &one);

	if (some < p) {
		one.reason = REASON_SOME;
		p = some;
	}
	if (p < ret->p_silent) {
		ret->p_silent = p;
		ret->silent = one;
	}
	if (p < ret->p_call && one.gain >= OWN_DELAYS * s->others) {
		ret->p_call = p;
		ret->surest = one;
	}
}

/* Adds the vertex; ns^2 by which the sum of differences is unsure. */
static double add_self(const struct own_calls *calls, const struct suspect_version *s, uint32_t vertex, const struct vertex_sides *x, struct own_time *ret)
{
	const struct forest *f = calls->f;
	double rate = moments_count(&x->self[1]) / s->requests, on_path = share_that_counts(x), p;
	struct own_difference d;
	struct suspect_call one;

	find_difference(f, s, vertex, x, STRATA_SHARED, &d);
	ret->others += rate * on_path * d.means[0];
	ret->mean += rate * on_path * d.means[1];
	if (d.means[1] <= d.means[0])
		return rate * rate * on_path * on_path * d.variance;
	one = call_of(f, s, vertex, &d);
	one.gain = rate * on_path * (d.means[1] - d.means[0]);
	one.behind = runs_behind(x);
	keep_most(&ret->call, &one);
	p = d.means[1] >= OWN_SILENT * d.means[0] ? p_of(&d) : 1;
	judge_call(calls, s, &one, p, ret);
	return rate * rate * on_path * on_path * d.variance;
}

static double per(wide sum, const struct moments *of)
{
	return of->count ? (double)((long double)sum / (long double)of->count) : 0;
}

/* ns a call of `parent` in which calls of this vertex ran next to each other. */
static double overlap_of(const struct vertex_sides *parent, const struct vertex_sides *x, int side)
{
	return per(x->duration[side].sum - x->wall[side], &parent->duration[side]);
}

/* Adds the time that the service loses by how it makes the calls of one of its vertices, ns a request: by more of them, and because fewer of them run
 * at a time. What they take longer in all may be their own doing, so only what they cover beyond that is counted as the latter. */
static void add_structure(const struct forest *f, const struct suspect_version *s, uint32_t vertex, const struct vertex_sides *parent,
			  struct own_time *ret)
{
	double calls = moments_count(&parent->duration[1]) / s->requests, longer, most = 0;
	struct suspect_call turn = {.vertex = vertex, .reason = REASON_SEQUENTIAL};

	for (uint32_t v = vertex + 1; v < f->vertices.n && f->vertices.v[v].depth > f->vertices.v[vertex].depth; v++) {
		struct suspect_call more = {.vertex = v, .reason = REASON_MORE_CALLS};
		struct vertex_sides x;
		double lost;

		if (f->vertices.v[v].parent != vertex)
			continue;
		gather(f, s, v, &x);
		more.calls = calls_each(&x, parent, 1);
		more.calls_others = calls_each(&x, parent, 0);
		if (more.calls > FAN_OUT * more.calls_others) {
			more.gain = calls * per(x.wall[1], &parent->duration[1]) * (1 - more.calls_others / more.calls);
			ret->structure += more.gain;
			keep_most(&ret->call, &more);
		}
		lost = overlap_of(parent, &x, 0) - overlap_of(parent, &x, 1);
		if (lost > most) {
			most = lost;
			turn.vertex = v;
		}
	}
	longer = per(parent->called[1], &parent->duration[1]) - per(parent->called[0], &parent->duration[0]);
	turn.gain = calls * (per(parent->busy[1], &parent->duration[1]) - per(parent->busy[0], &parent->duration[0]) - fmax(0, longer));
	if (turn.gain < OWN_DELAYS * s->others)
		return;
	if (calls * most < LOST_BY_ONE * turn.gain)
		turn.vertex = vertex;
	ret->structure += turn.gain;
	keep_most(&ret->call, &turn);
}

void own_time_find(const struct own_calls *calls, const struct suspect_version *s, struct own_time *ret)
{
	const struct forest *f = calls->f;
	double variance = 0;
	size_t n = 0;

	*ret = (struct own_time){.p = 1, .p_silent = 1, .p_call = 1, .call = {.vertex = NO_VERTEX}, .silent = {.vertex = NO_VERTEX}};
	for (size_t i = 0; i < calls->vertices.n; i++) {
		uint32_t v = calls->vertices.v[i];
		struct vertex_sides x;

		if (calls->owners[v] != s->package)
			continue;
		gather(f, s, v, &x);
		if (sure_calls(&x.self[0], x.requests[0]) < 2 || sure_calls(&x.self[1], x.requests[1]) < 2)
			continue;
		variance += add_self(calls, s, v, &x, ret);
		n++;
		if (f->vertices.v[v].kind == VERTEX_CALL)
			add_structure(f, s, v, &x, ret);
	}
	if (!n) /* none of its calls is known, so nothing is */
		return;
	ret->p_silent = fmin(1, ret->p_silent * (double)n);
	ret->p_call = fmin(1, ret->p_call * (double)n);
	if (variance > 0 && ret->mean > ret->others)
		ret->p = welch_normal_p((ret->mean - ret->others) / sqrt(variance));
}

double span_own_rise_of_others(const struct own_calls *calls, const struct suspect_version *s)
{
	double expected = 0, got = 0;

	for (size_t i = 0; i < calls->vertices.n; i++) {
		uint32_t v = calls->vertices.v[i];
		struct vertex_sides x;

		if (calls->owners[v] == s->package)
			continue;
		gather(calls->f, s, v, &x);
		if (!x.self[0].count || !x.self[1].count)
			continue;
		expected += moments_count(&x.self[1]) * moments_mean(&x.self[0]);
		got += moments_count(&x.self[1]) * moments_mean(&x.self[1]);
	}
	return expected > 0 ? got / expected : 1;
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

	VEC_EACH(g, b->groups) {
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
	VEC_EACH(g, b->groups) {
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

/* Did enough requests of other versions run then? */
static bool has_others(const struct forest *f, const struct suspect_version *s, const struct own_times *t)
{
	struct failing requests;

	gather_failing(f, s, t, NO_VERTEX, &requests);
	return requests.samples[0] >= SPAN_LEAST &&
	       (requests.samples[0] >= STRATA_SHARED * requests.samples[1] ||
		requests.samples[0] * requests.failed[1] >= OWN_FAILURES * requests.calls[1]); /* so many of them would have failed, too */
}

void own_failures_find(const struct own_calls *calls, const struct suspect_version *s, struct own_failures *ret)
{
	const struct forest *f = calls->f;
	struct own_times times = times_of(f, s);
	double variance = 0, seen = 0;
	struct failing x;

	*ret = (struct own_failures){.p = 1, .first = times.first};
	if (!has_others(f, s, &times)) {
		times = (struct own_times){INT64_MIN, INT64_MAX};
		ret->at_other_times = true;
	}
	for (size_t i = 0; s->is_service && i < calls->vertices.n; i++) {
		uint32_t v = calls->vertices.v[i];

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
