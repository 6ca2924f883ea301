#include "spans/compare/span-change.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/stat/fisher.h"
#include "lib/stat/rank.h"
#include "lib/stat/sketch.h"
#include "spans/compare/span-pool.h"
#include "spans/compare/span-vertex.h"

#define CALL_SLOWER  1.2  /* times as slow by itself, at least, is a call below requests that are not slower */
#define UNIFORM_SERVICES 3  /* fewer tell nothing */
#define UNIFORM_SPREAD	 .6 /* of the rise is what the factors of services differ by, at most */
#define SOME_TIMES   3	  /* the median: what takes longer is slow for such a call, */
#define SOME_MORE    3.	  /* ... and times as many of them, at least, are more than there were */
#define SHRINK 3 /* calls: scores of services that were called less count less */

void span_change_free(struct span_change *c)
{
	VEC_FREE_EACH(c->buckets, VEC_FREE(each->vertices));
	VEC_FREE(c->services);
	VEC_FREE(c->pools);
}

/* --- one bucket ------------------------------------------------------------------------------------------------------- */

ORDER(by_gain, struct vertex_change, CMP(b->after - b->before, a->after - a->before) ?: ASCENDING(vertex))

double span_change_p(const struct moments *before, const struct moments *after, double superiority)
{
	const struct sample_moments a = span_vertex_sample(before), b = span_vertex_sample(after);
	double df = 0, t = welch_t(&a, &b, &df), by_mean = isnan(t) ? 1 : welch_student_p(t, df),
	       by_rank = welch_mann_whitney_p(superiority, a.n, b.n);

	return fmin(1, 2 * fmin(by_mean, isnan(by_rank) ? 1 : by_rank));
}

/* A share of n effective requests that rose: one-sided p by the pooled variance. */
static double shares_p(double a, double n_a, double b, double n_b)
{
	double pooled = (a * n_a + b * n_b) / (n_a + n_b), variance = pooled * (1 - pooled) * (1 / n_a + 1 / n_b);
	/* counts are whole numbers: half a request on either side is not a difference (Yates) */
	double off = b - a - .5 * (1 / n_a + 1 / n_b);

	return variance > 0 && off > 0 ? welch_normal_p(off / sqrt(variance)) / 2 : 1;
}

static double share_of(uint64_t weight, const struct moments *of)
{
	return of->count ? (double)weight / (double)of->count : 0;
}

/* Requests beyond a quantile of both sides together, and of the candidate beyond that by more than what is tolerated: a tail that moves
 * no mean. */
static int test_tail(struct bucket_change *c, double least)
{
	static const double at[SPAN_TAILS] = {.95, .98, .99};
	struct sketch *both = sketch_new();
	int r = both ? sketch_merge(both, c->before->sketch) : -ENOMEM;

	r = r ?: sketch_merge(both, c->after->sketch);
	c->p_tail = 1;
	for (size_t i = 0; r == 0 && i < SPAN_TAILS; i++) {
		double ns = sketch_quantile(both, at[i]), a = sketch_above(c->before->sketch, ns), b = sketch_above(c->after->sketch, ns * (1 + least));
		double p = shares_p(a, moments_effective(&c->before->total), b, moments_effective(&c->after->total));

		c->tails[0][i] = a;
		c->tails[1][i] = b;
		if (p >= c->p_tail)
			continue;
		c->p_tail = p;
		c->tail_ns = ns;
		c->tail_before = a;
		c->tail_after = b;
	}
	c->p_tail = fmin(1, SPAN_TAILS * c->p_tail);
	sketch_free(both);
	return r;
}

/* By the mean, and by the ranks, or by the shift within kinds. Of few requests, one that took forever makes a mean, and none of them makes
 * ranks: both are to be sure. */
static double mean_p(const struct span_change *all, const struct bucket_change *c)
{
	const struct moments *a = &c->before->total, *b = &c->after->total;
	const struct sample_moments x = span_vertex_sample(a), y = span_vertex_sample(b);
	double df = 0, t = welch_t(&x, &y, &df), by_mean = isnan(t) ? 1 : welch_student_p(t, df), by_rank = welch_mann_whitney_p(c->superiority, x.n, y.n),
	       rank = c->superiority - .5;

	if (c->kinds || c->mixed) { /* ranks are of all kinds of requests together */
		by_mean = c->error > 0 ? welch_student_p(c->within / c->error, c->freedom) : 1;
		by_rank = span_pool_shift_p(all, &c->for_kind, &rank);
	}
	if (isnan(by_rank) || x.n < SPAN_LEAST || y.n < SPAN_LEAST)
		return fmax(by_mean, isnan(by_rank) ? 1 : by_rank);
	return span_pool_two_ways(c->within, by_mean, rank, by_rank);
}

/* What of the change is within kinds of requests. */
static int find_within(const struct forest *f, const struct pool_change *of_all, struct bucket_change *c)
{
	const struct moments *a = &c->before->total, *b = &c->after->total;
	const struct span_pair pair = {c->before, c->after};
	struct span_within within = {};
	int r = c->for_kind.n_keys ? span_mix_within(f, &pair, 1, c->for_kind.keys, c->for_kind.n_keys, &within) : 0;

	if (r < 0)
		return r;
	c->kinds = r;
	c->mixed = of_all->mixed || c->mix.n_keys || (r && within.p_shares <= POOL_SHARES_P);
	c->within = r ? within.within : c->mix.n_keys ? c->mix.within : c->mean_after - c->mean_before;
	c->error = r ? within.error : c->mix.n_keys ? c->mix.error :
		       sqrt(moments_variance(a) / moments_effective(a) + moments_variance(b) / moments_effective(b));
	c->freedom = r ? within.freedom : c->mix.n_keys ? c->mix.freedom : fmax(moments_effective(a) + moments_effective(b) - 2, 1);
	c->error *= sqrt(c->for_kind.drift);
	if (c->mix.n_keys)
		c->mix.mix = c->mean_after - c->mean_before - c->within;
	c->low = c->within - 1.96 * c->error;
	c->high = c->within + 1.96 * c->error;
	return 0;
}

/* By the kinds of all buckets, so that those of few requests, where nothing can be found, are divided, too. */
static int test_bucket(const struct forest *f, double least, const struct pool_change *of_all, struct bucket_change *c)
{
	const struct moments *a = &c->before->total, *b = &c->after->total;
	const struct span_pair pair = {c->before, c->after};
	uint32_t keys[MIX_KEYS + SLOW_KEYS];
	size_t n_keys = 0;
	int r = test_tail(c, least);

	for (size_t k = 0; k < c->mix.n_keys; k++)
		span_pool_add_key(keys, &n_keys, ARRAY_SIZE(keys), c->mix.keys[k]);
	for (size_t k = 0; k < of_all->for_kind.n_keys; k++)
		span_pool_add_key(keys, &n_keys, ARRAY_SIZE(keys), of_all->for_kind.keys[k]);
	r = r ?: span_slow_find(f, &pair, 1, keys, n_keys, least, &c->for_kind);
	r = r ?: find_within(f, of_all, c);
	if (r < 0)
		return r;
	c->superiority = sketch_superiority(c->before->sketch, c->after->sketch);
	c->errors_before = share_of(c->before->errors, a);
	c->errors_after = share_of(c->after->errors, b);
	c->p_errors = shares_p(c->errors_before, moments_effective(a), c->errors_after, moments_effective(b));
	if (c->mixed)
		c->p_tail = 1; /* quantiles are of all kinds of requests together */
	return 0;
}

/* A few very long requests make every mean unsure; then the ranks and the p95 say whether anything moved. */
static bool alike(const struct bucket_change *c)
{
	double na = moments_effective(&c->before->total), nb = moments_effective(&c->after->total);
	double error = sqrt((na + nb + 1) / (12 * na * nb));

	return !c->mixed && c->superiority + 1.96 * error < .56 &&
	       sketch_quantile(c->after->sketch, .95) < (1 + 2 * SPAN_TOLERANCE) * sketch_quantile(c->before->sketch, .95);
}

/* How much longer a typical request takes, 0.05 = 5 %: by medians, or within kinds. */
static double typical_rise(const struct bucket_change *c)
{
	if (c->kinds)
		return c->for_kind.shift_error > 0 ? c->for_kind.shift : 0;
	return c->mixed ? 0 : sketch_quantile(c->after->sketch, .5) / sketch_quantile(c->before->sketch, .5) - 1;
}

static enum span_verdict judge(struct bucket_change *c, double least, double level)
{
	double tolerated = least * c->mean_before;

	if (moments_effective(&c->before->total) < 2 || moments_effective(&c->after->total) < 2)
		return VERDICT_UNCLEAR;
	if (span_pool_is_sure(level, c->q, c->p_errors, POOL_ERRORS) && span_pool_is_much_more(c->errors_before, c->errors_after, POOL_LEAST))
		return VERDICT_FAILING;
	if (span_pool_is_sure(level, c->q, c->p_mean, POOL_MEAN) && (c->within > tolerated || (typical_rise(c) > least && c->within > 0))) {
		c->ground = GROUND_MEAN;
		return VERDICT_SLOWER;
	}
	if (!c->mixed && span_pool_is_sure(level, c->q, c->p_tail, POOL_TAIL) && span_pool_is_much_more(c->tail_before, c->tail_after, POOL_LEAST)) {
		c->ground = GROUND_TAIL;
		return VERDICT_SLOWER;
	}
	if (span_slow_worst(&c->for_kind) && span_pool_is_sure(level, c->q, c->for_kind.p, POOL_SLOW)) {
		c->ground = GROUND_SLOW;
		return VERDICT_SLOWER;
	}
	if (span_pool_is_sure(level, c->q, c->p_mean, POOL_MEAN) && c->within < -tolerated)
		return VERDICT_FASTER;
	return c->high <= 2 * tolerated || alike(c) || c->could_see <= 2 * least ? VERDICT_SAME : VERDICT_UNCLEAR;
}

static int add_bucket(const struct forest *f, uint32_t index, const uint32_t sets[2], struct span_change *ret)
{
	const struct bucket *b = &f->buckets.v[index];
	struct bucket_change c = {.bucket = index, .p = 1, .q = 1, .verdict = VERDICT_UNCLEAR, .superiority = NAN, .low = NAN,
				  .high = NAN, .mean_before = NAN, .mean_after = NAN, .slow_call = NO_VERTEX};
	int r = 0;

	for (size_t j = 0; j < b->groups.n; j++) {
		if (b->groups.v[j].versions == sets[0])
			c.before = &b->groups.v[j];
		else if (b->groups.v[j].versions == sets[1])
			c.after = &b->groups.v[j];
	}
	if (!c.before && !c.after)
		return 0;
	if (c.before)
		c.mean_before = moments_mean(&c.before->total);
	if (c.after)
		c.mean_after = moments_mean(&c.after->total);
	if (c.before && c.after)
		r = span_mix_find(f, c.before, c.after, &c.mix);
	r = r ?: VEC_PUSH(ret->buckets, c);
	if (r < 0)
		VEC_FREE(c.vertices);
	return r;
}

/* The call paths that either side has, in order: a forest of many buckets has many more. */
static int compare_vertices(const struct forest *f, struct bucket_change *c)
{
	size_t i = 0, j = 0;
	int r = 0;

	while (r == 0 && (i < c->before->cells.n || j < c->after->cells.n)) {
		uint32_t a = i < c->before->cells.n ? c->before->cells.v[i].vertex : NO_VERTEX, b = j < c->after->cells.n ? c->after->cells.v[j].vertex : NO_VERTEX;
		uint32_t v = a < b ? a : b;

		r = span_change_vertex(f, c, v);
		i += a == v;
		j += b == v;
	}
	return r;
}

static int compare_buckets(const struct forest *f, struct span_change *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ret->buckets.n; i++) {
		struct bucket_change *c = &ret->buckets.v[i];

		if (!c->before || !c->after)
			continue;
		r = test_bucket(f, ret->least, &ret->all, c);
		r = r == 0 ? compare_vertices(f, c) : r;
		VEC_SORT(c->vertices, by_gain);
	}
	return r;
}

static double cost(const struct bucket_change *c)
{
	return c->before && c->after ? (c->mean_after - c->mean_before) * moments_count(&c->after->total) : 0;
}

ORDER(by_verdict, struct bucket_change, CMP(span_is_regression(b->verdict), span_is_regression(a->verdict)) ?: CMP(cost(b), cost(a)) ?: ASCENDING(bucket))

/* The greatest z at which a p of `level` is not reached. */
static double z_of(double level)
{
	double low = 0, high = 40;

	for (int i = 0; i < 60; i++) {
		double z = (low + high) / 2;

		*(welch_normal_p(z) > level ? &low : &high) = z;
	}
	return high;
}

/* The least factor by which all requests of the bucket were to be longer for ranks to tell it with SPAN_POWER. */
static double seen_by_ranks(const struct bucket_change *c, double z)
{
	double na = moments_effective(&c->before->total), nb = moments_effective(&c->after->total);
	double wanted = .5 + (z + POOL_POWER_Z) * sqrt((na + nb + 1) / (12 * na * nb)), low = 0, high = 4;

	if (sketch_superiority_of(c->before->sketch, 1 + high) < wanted)
		return INFINITY;
	for (int i = 0; i < 12; i++) {
		double rise = (low + high) / 2;

		*(sketch_superiority_of(c->before->sketch, 1 + rise) < wanted ? &low : &high) = rise;
	}
	return high;
}

static double could_see(const struct bucket_change *c, double z, double least)
{
	double na = moments_effective(&c->before->total), nb = moments_effective(&c->after->total);
	double by_mean = na >= 2 && nb >= 2 ? span_pool_seen_by_mean(c->error, c->mean_before, z, least) : INFINITY;

	if (c->kinds && na >= SPAN_LEAST && nb >= SPAN_LEAST)
		return c->for_kind.shift_error > 0 ? fmin(by_mean, span_pool_seen_by_mean(c->for_kind.shift_error, 1, z, least)) : by_mean;
	if (c->mixed || na < SPAN_LEAST || nb < SPAN_LEAST)
		return by_mean;
	return fmin(by_mean, fmax(seen_by_ranks(c, z), 2 * least));
}

/* In most of the traffic, a rise of how much would have been reported? */
static void sum_seen(struct span_change *c)
{
	double all = 0, told = 0;

	VEC_EACH(b, c->buckets) {
		double weight = b->after ? moments_count(&b->after->total) : 0;

		all += weight;
		if (!b->before || !b->after || b->verdict == VERDICT_UNCLEAR)
			continue;
		told += weight;
		c->seen = fmax(c->seen, b->could_see);
	}
	c->seen_share = all > 0 ? told / all : 0;
}

/* Buckets that both sides have, then pools. */
struct weighing {
	size_t n;
	double all;	 /* requests of them, one that is in a bucket and in pools in each */
	double *p;	 /* weighted, then q */
};

/* When it is known whether all of them are slower. */
static void test_means(struct span_change *c)
{
	VEC_EACH(b, c->buckets) {
		if (!b->before || !b->after)
			continue;
		b->p_mean = mean_p(c, b);
		b->p = span_pool_p(b->p_mean, b->for_kind.p, b->p_tail, b->p_errors);
	}
}

/* Half of the level is for each of them equally, half by how many requests it has: weights of 1 on average (Genovese, Roeder and Wasserman, 2006). */
static double weight_of(const struct weighing *w, double requests)
{
	return .5 + .5 * requests * (double)w->n / w->all;
}

static double requests_of(const struct bucket_change *b)
{
	return b->before && b->after ? moments_count(&b->after->total) : 0;
}

static int weigh(const struct span_change *c, struct weighing *w)
{
	size_t n = 0;

	*w = (struct weighing){.p = calloc(c->buckets.n + c->pools.n + 1, sizeof(*w->p)), .n = c->pools.n};
	for (size_t i = 0; i < c->buckets.n; i++) {
		w->n += requests_of(&c->buckets.v[i]) > 0;
		w->all += requests_of(&c->buckets.v[i]);
	}
	for (size_t i = 0; i < c->pools.n; i++)
		w->all += c->pools.v[i].requests;
	if (!w->p)
		return -ENOMEM;
	for (size_t i = 0; i < c->buckets.n; i++)
		if (requests_of(&c->buckets.v[i]) > 0)
			w->p[n++] = c->buckets.v[i].p / weight_of(w, requests_of(&c->buckets.v[i]));
	for (size_t i = 0; i < c->pools.n; i++)
		w->p[n++] = c->pools.v[i].p / weight_of(w, c->pools.v[i].requests);
	return rank_benjamini_hochberg(w->p, n);
}

/* The greatest z that is not reported, of one of them. */
static double z_of_one(const struct span_change *c, const struct weighing *w, double requests)
{
	return z_of(c->level / (2 * (double)w->n) * weight_of(w, requests) * POOL_MEAN);
}

/* Half of the level is for all buckets together, half by Benjamini and Hochberg for those that both sides have and for the other pools. */
static int judge_buckets(struct span_change *c)
{
	struct weighing w;
	int r = weigh(c, &w);
	size_t n = 0;

	c->all.q = fmin(1, 2 * c->all.p);
	for (size_t i = 0; r == 0 && i < c->buckets.n; i++) {
		struct bucket_change *b = &c->buckets.v[i];

		if (!(requests_of(b) > 0))
			continue;
		b->q = fmin(1, 2 * w.p[n++]);
		b->could_see = could_see(b, z_of_one(c, &w, requests_of(b)), c->least);
		b->verdict = judge(b, c->least, c->level);
	}
	for (size_t i = 0; r == 0 && i < c->pools.n; i++) {
		c->pools.v[i].q = fmin(1, 2 * w.p[n++]);
		span_pool_judge(c, z_of_one(c, &w, c->pools.v[i].requests), &c->pools.v[i]);
	}
	free(w.p);
	span_pool_judge(c, z_of(c->level / 2 * POOL_MEAN), &c->all);
	sum_seen(c);
	return r;
}

/* --- single calls ------------------------------------------------------------------------------------------------------ */

/* No caller waits for it: a message that is handled, work that continues behind an answer. */
static bool runs_alone(const struct cell *c)
{
	return 2 * c->asynchronous > c->duration.count;
}

/* The rise of a call, ns, that another mix of requests may have made: its own time moves as the mean does. By how much the mean moved is of other
 * calls, too: a mean that fell hides no call that takes many times as long. */
static double mix_of_call(const struct bucket_change *c, const struct cell *x)
{
	return fabs(c->mean_after - c->mean_before - c->within) / c->mean_before * moments_mean(&x->self);
}

/* Calls of one request are slow or fail together: they count for no more than requests. */
static double sure_calls(const struct cell *c)
{
	return fmin(moments_effective(&c->duration), (double)c->path.samples);
}

/* A call that both sides make and that takes longer by itself, surely beyond what another mix of requests may do to it; ns a request. */
static double call_rise(const struct bucket_change *c, const struct cell *x, const struct cell *y, double *ret_p)
{
	const struct sample_moments a = {sure_calls(x), moments_mean(&x->self), moments_variance(&x->self)},
				    b = {sure_calls(y), moments_mean(&y->self), moments_variance(&y->self)};
	double rise = b.mean - a.mean, df = 0, t = welch_t(&a, &b, &df), calls = moments_count(&y->self) / moments_count(&c->after->total);
	double on_path, of_request, beyond;

	*ret_p = 1;
	if (rise <= 0 || isnan(t) || a.n < SPAN_LEAST || b.n < SPAN_LEAST || b.mean < CALL_SLOWER * a.mean)
		return 0;
	on_path = runs_alone(y) ? 1 : y->self.sum ? fmin(1, (double)((long double)y->path.sum / (long double)y->self.sum)) : 0;
	of_request = on_path * rise * calls;
	beyond = on_path * calls * (rise - 2 * mix_of_call(c, x));
	if (beyond <= 0)
		return 0;
	*ret_p = isinf(t) ? 0 : welch_student_p(t * beyond / of_request, df);
	return beyond;
}

/* Some calls take SOME_TIMES as long as the baseline's median or more: too few to make a mean sure, too many for chance (Fisher). Of calls that
 * call little themselves, as those of a database; ns a request. */
static double call_some(const struct bucket_change *c, const struct cell *x, const struct cell *y, double *ret_p)
{
	double n[2] = {sure_calls(x), sure_calls(y)}, limit = SOME_TIMES * sketch_quantile(x->sketch, .5), slow[2], on_path;
	double rise = moments_mean(&y->duration) - moments_mean(&x->duration), calls = moments_count(&y->duration) / moments_count(&c->after->total);

	*ret_p = 1;
	if (c->mixed) /* quantiles are of all kinds of requests together */
		return 0;
	if (10 * y->busy > y->duration.sum || rise <= 2 * mix_of_call(c, x) || n[0] < SPAN_LEAST || n[1] < SPAN_LEAST)
		return 0;
	slow[0] = sketch_above(x->sketch, limit);
	slow[1] = sketch_above(y->sketch, limit);
	if (!(slow[1] >= SOME_MORE * slow[0]) || !(slow[1] >= slow[0] + POOL_LEAST))
		return 0;
	*ret_p = fisher_p((unsigned)lround(slow[1] * n[1]), (unsigned)n[1], (unsigned)lround(slow[0] * n[0]) + (unsigned)lround(slow[1] * n[1]),
			  (unsigned)n[0] + (unsigned)n[1]);
	on_path = runs_alone(y) ? 1 : y->self.sum ? fmin(1, (double)((long double)y->path.sum / (long double)y->self.sum)) : 0;
	return on_path * calls * rise;
}

/* Failures that requests need not show, as callers try again or never learn of them: the rise of their share of the calls. */
static double call_failures(const struct cell *x, const struct cell *y, double *ret_p)
{
	double a = share_of(x->errors, &x->duration), b = share_of(y->errors, &y->duration);

	*ret_p = 1;
	if (!span_pool_is_much_more(a, b, POOL_LEAST))
		return 0;
	*ret_p = shares_p(a, sure_calls(x), b, sure_calls(y));
	return b - a;
}

/* One call of a bucket, by itself. */
struct call_change {
	struct bucket_change *bucket;
	const struct cell *before, *after;
	double rise; /* ns a request; or of the share that fails */
	bool fails, some;
};

struct call_changes {
	VEC(struct call_change) list;
	VEC(double) p; /* of each; then q */
};

static int add_call(struct call_changes *to, struct call_change one)
{
	double p = 1;

	if (one.fails)
		one.rise = call_failures(one.before, one.after, &p);
	else
		one.rise = (one.some ? call_some : call_rise)(one.bucket, one.before, one.after, &p);
	return VEC_PUSH(to->list, one) < 0 || VEC_PUSH(to->p, p) < 0 ? -ENOMEM : 0;
}

/* The least share of a call's runs that call_some() would have found slow, and call_failures() failing, by a chance of `level`, if few were before. */
static double some_share(double before, double after, double level)
{
	unsigned n0 = (unsigned)before, n1 = (unsigned)after, slow = (unsigned)ceil(POOL_LEAST * before);

	for (unsigned k = slow + 1; k <= n1; k++)
		if (fisher_p(k, n1, k + slow, n0 + n1) <= level && shares_p(slow / before, before, k / after, after) <= level)
			return k / after;
	return INFINITY;
}

/* The share is that of a call which each request makes, in all buckets that are judged. */
static double find_some_seen(const struct span_change *c, size_t tests)
{
	double worst = 0;

	VEC_EACH(b, c->buckets) {
		double n[2];

		if (!b->before || !b->after || b->verdict == VERDICT_UNCLEAR)
			continue;
		n[0] = moments_effective(&b->before->total);
		n[1] = moments_effective(&b->after->total);
		worst = fmax(worst, b->mixed || n[0] < SPAN_LEAST || n[1] < SPAN_LEAST ? INFINITY : some_share(n[0], n[1], c->level / (double)tests));
	}
	return worst > 0 ? worst : INFINITY;
}

static int gather_calls(struct span_change *c, struct call_changes *to)
{
	int r = 0;

	VEC_EACH(b, c->buckets) {
		for (size_t k = 0; b->before && b->after && k < b->after->cells.n && r == 0; k++) {
			const struct cell *y = &b->after->cells.v[k], *x = forest_group_cell(b->before, y->vertex);

			if (x)
				r = add_call(to, (struct call_change){.bucket = b, .before = x, .after = y});
			if (x && r == 0)
				r = add_call(to, (struct call_change){.bucket = b, .before = x, .after = y, .some = true});
			if (x && r == 0)
				r = add_call(to, (struct call_change){.bucket = b, .before = x, .after = y, .fails = true});
		}
	}
	return r;
}

/* Failures before slowness, then the greatest rise. */
static void blame_call(const struct span_change *c, const struct call_change *call, double *worst)
{
	struct bucket_change *b = call->bucket;
	bool blamed = b->slow_call != NO_VERTEX, failing = blamed && b->verdict == VERDICT_FAILING;

	if ((failing && !call->fails) || (blamed && failing == call->fails && call->rise <= *worst))
		return;
	if (!call->fails && call->rise <= c->least * b->mean_before)
		return;
	*worst = call->rise;
	b->slow_call = call->after->vertex;
	b->call_behind = runs_alone(call->after);
	b->ground = GROUND_CALL;
	b->verdict = call->fails ? VERDICT_FAILING : VERDICT_SLOWER;
	b->call_errors_before = share_of(call->before->errors, &call->before->duration);
	b->call_errors_after = share_of(call->after->errors, &call->after->duration);
}

/* Below requests that became no slower, as others of them became rarer or none waits for it, a call may have. */
static int judge_calls(struct span_change *c)
{
	struct call_changes calls = {};
	double worst = 0;
	int r = gather_calls(c, &calls);

	if (r == 0)
		c->some_seen = find_some_seen(c, calls.p.n ? calls.p.n : 1);
	r = r ?: rank_benjamini_hochberg(calls.p.v, calls.p.n);
	for (size_t i = 0; r == 0 && i < calls.list.n; i++) {
		const struct bucket_change *b = calls.list.v[i].bucket;

		if (calls.p.v[i] <= c->level && (!span_is_regression(b->verdict) || b->slow_call != NO_VERTEX))
			blame_call(c, &calls.list.v[i], &worst);
	}
	VEC_FREE(calls.list);
	VEC_FREE(calls.p);
	return r;
}

/* All requests' mean moved by what changed within buckets, and by which buckets the requests were of. */
static void split_mix(struct span_change *c)
{
	struct moments before = {}, after = {};
	double within = 0;

	for (size_t i = 0; i < c->buckets.n; i++) {
		if (c->buckets.v[i].before)
			moments_merge(&before, &c->buckets.v[i].before->total);
		if (c->buckets.v[i].after)
			moments_merge(&after, &c->buckets.v[i].after->total);
	}
	c->mean_before = moments_mean(&before);
	c->mean_after = moments_mean(&after);
	c->requests_before = moments_count(&before);
	c->requests_after = moments_count(&after);
	for (size_t i = 0; i < c->buckets.n; i++)
		within += cost(&c->buckets.v[i]);
	c->within = within / moments_count(&after);
	c->mix = c->mean_after - c->mean_before - c->within;
}

/* --- services --------------------------------------------------------------------------------------------------------- */

static int add_service(struct span_change *ret, uint32_t service, const struct cell *x, const struct cell *y)
{
	double before = span_vertex_mean(x), calls = moments_count(&y->duration);
	struct service_change *s = NULL;

	for (size_t i = 0; i < ret->services.n && !s; i++)
		if (ret->services.v[i].service == service)
			s = &ret->services.v[i];
	if (!s) {
		if (VEC_PUSH(ret->services, (struct service_change){.service = service}) < 0)
			return -ENOMEM;
		s = &ret->services.v[ret->services.n - 1];
	}
	s->expected += before * calls;
	s->got += span_vertex_mean(y) * calls;
	s->calls += fmin((double)x->duration.samples, (double)y->duration.samples);
	return 0;
}

ORDER(by_score, struct service_change, DESCENDING(score))

/* Services' calls that all became slower by the same factor have one cause below all of them: the host, the runtime, their load. By the mean
 * of their factors; what a service adds must be like that. */
static double find_uniform(const struct span_change *c)
{
	double expected = 0, got = 0, low = INFINITY, high = 0;

	VEC_EACH(s, c->services) {
		double times = s->expected > 0 ? s->got / s->expected : 0;

		expected += s->expected;
		got += s->got;
		low = fmin(low, times);
		high = fmax(high, times);
	}
	if (c->services.n < UNIFORM_SERVICES || !(expected > 0) || got < (1 + c->least) * expected)
		return 0;
	return high - low <= UNIFORM_SPREAD * (got / expected - 1) ? got / expected : 0;
}

/* An edge belongs to its callee: the network in front of it, and its queue. */
static int compare_services(const struct forest *f, struct span_change *ret)
{
	VEC_EACH(c, ret->buckets) {
		for (size_t k = 0; c->before && c->after && k < c->after->cells.n; k++) {
			const struct cell *y = &c->after->cells.v[k],
					  *x = forest_group_cell(c->before, y->vertex);

			if (x && x->duration.count && add_service(ret, f->vertices.v[y->vertex].service, x, y) < 0)
				return -ENOMEM;
		}
	}
	VEC_EACH(s, ret->services)
		s->score = s->expected > 0 && s->got > 0 ? log(s->got / s->expected) * s->calls / (s->calls + SHRINK) : 0;
	ret->uniform = find_uniform(ret);
	VEC_SORT(ret->services, by_score);
	return 0;
}

int span_change(const struct forest *f, double least, double level, struct span_change *ret)
{
	const uint32_t sets[2] = {span_side_set(f->names, SIDE_BASELINE), span_side_set(f->names, SIDE_CANDIDATE)};
	int r = 0;

	*ret = (struct span_change){.least = least > 0 ? least : SPAN_TOLERANCE, .level = level > 0 ? level : SPAN_Q};
	for (uint32_t i = 0; r == 0 && i < f->buckets.n; i++)
		r = add_bucket(f, i, sets, ret);
	r = r ?: span_pool_find(f, ret);
	r = r ?: compare_buckets(f, ret);
	if (r == 0)
		span_pool_test(f, ret);
	if (r == 0)
		test_means(ret);
	r = r ?: judge_buckets(ret);
	r = r ?: judge_calls(ret);
	r = r ?: compare_services(f, ret);
	if (r == 0) {
		split_mix(ret);
		VEC_SORT(ret->buckets, by_verdict);
	} else {
		span_change_free(ret);
	}
	return r;
}
