#include "spans/compare/span-slow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/stat/welch.h"

#define BATCHES	    8  /* of the baseline side by side */
#define BATCH_LEAST 25 /* requests */
#define TELLING	    .9 /* of the variance within kinds is what an attribute leaves, at most, that tells durations apart */

struct request {
	double log; /* of ns; then without the mean of its kind */
	int64_t start;
	double weight;
};

/* Weights of both sides, and of what is counted of them. */
struct kind_sums {
	double sum, squares, weight; /* of logarithms */
	double of[2], of_square[2], beyond[2], far; /* far: the candidate's, by more than what is tolerated */
	double ratios[2], ratio_squares[2];
};

struct sorting {
	struct division d;
	size_t pairs;
	VEC(struct request) requests; /* as d.rows */
	VEC(struct kind_sums) kinds;
};

static void sorting_free(struct sorting *s)
{
	division_free(&s->d);
	VEC_FREE(s->requests);
	VEC_FREE(s->kinds);
}

static int add_side(struct sorting *s, const struct forest *f, const struct forest_group *g, int side, size_t pair)
{
	VEC_EACH(r, g->requests) {
		struct request one = {log(fmax((double)r->duration, 1)), r->start, forest_request_weight(f, r)};

		if (division_add(&s->d, r->set, side, pair) < 0 || VEC_PUSH(s->requests, one) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int sum_kinds(struct sorting *s, const uint32_t *strata, size_t n)
{
	s->kinds.n = 0;
	while (s->kinds.n < n)
		if (VEC_PUSH(s->kinds, (struct kind_sums){}) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < s->requests.n; i++) {
		const struct request *r = &s->requests.v[i];
		struct kind_sums *k = &s->kinds.v[strata[i]];
		int side = s->d.rows.v[i].side;

		k->sum += r->weight * r->log;
		k->squares += r->weight * r->log * r->log;
		k->weight += r->weight;
		k->of[side] += r->weight;
		k->of_square[side] += r->weight * r->weight;
	}
	return 0;
}

/* The variance of the logarithms within kinds; NaN where the sides have too few kinds in common. */
static double variance_within(const struct sorting *s)
{
	double left = 0, weight = 0, all = 0, known = 0;

	VEC_EACH(k, s->kinds) {
		left += k->squares - k->sum * k->sum / k->weight;
		weight += k->weight;
		all += k->of[1];
		known += k->of[0] > 0 ? k->of[1] : 0;
	}
	if (s->requests.n <= s->kinds.n || known < DIVISION_KNOWN * all)
		return NAN;
	return left / weight * (double)s->requests.n / (double)(s->requests.n - s->kinds.n);
}

/* The variance within kinds if they were divided by this attribute, too; NaN: it does not divide them, or into kinds that one side lacks. */
static int variance_by(struct sorting *s, uint32_t key, uint32_t *strata, double *ret)
{
	int64_t n = division_by(&s->d, key, strata);
	bool divides = n > (int64_t)s->kinds.n && n <= (int64_t)(DIVISION_MOST * s->pairs);

	if (n < 0 || (divides && sum_kinds(s, strata, (size_t)n) < 0))
		return -ENOMEM;
	*ret = divides ? variance_within(s) : NAN;
	return 0;
}

static int take_key(struct sorting *s, uint32_t key, struct span_slow *ret)
{
	ret->keys[ret->n_keys++] = key;
	return division_take(&s->d, key) < 0 ? -ENOMEM : 1;
}

/* Schwarz's criterion (1978): so that of few requests an attribute of many values does not explain everything. */
static double cost_of(const struct sorting *s, double variance)
{
	double n = (double)s->requests.n, kinds = (double)s->kinds.n;

	return n * log(variance * (n - kinds) / n) + kinds * log(n);
}

/* Divides kinds by the attribute that tells durations apart best; *variance and *cost by now. 1 = divided, 0 = none does, -ENOMEM. */
static int divide(struct sorting *s, uint32_t *strata, double *variance, double *cost, struct span_slow *ret)
{
	size_t kinds = s->kinds.n, best_kinds = kinds;
	double before = *variance;
	uint32_t best = 0;

	for (size_t k = 0; k < s->d.keys.n; k++) {
		double left;

		s->kinds.n = kinds;
		if (variance_by(s, s->d.keys.v[k], strata, &left) < 0)
			return -ENOMEM;
		if (!(left < TELLING * before) || cost_of(s, left) >= *cost)
			continue;
		*cost = cost_of(s, left);
		*variance = left;
		best = s->d.keys.v[k];
		best_kinds = s->kinds.n;
	}
	s->kinds.n = best_kinds;
	return best ? take_key(s, best, ret) : 0;
}

static int divide_by_given(struct sorting *s, uint32_t *strata, uint32_t key, struct span_slow *ret)
{
	size_t kinds = s->kinds.n;
	double left;
	int r = variance_by(s, key, strata, &left);

	if (r == 0 && !isnan(left))
		return take_key(s, key, ret) < 0 ? -ENOMEM : 0;
	s->kinds.n = kinds;
	return r;
}

static int find_kinds(struct sorting *s, const uint32_t *keys, size_t n_keys, struct span_slow *ret)
{
	_cleanup_free_ uint32_t *strata = calloc(s->requests.n + 1, sizeof(*strata));
	double variance, cost;
	int r = strata ? 0 : -ENOMEM;

	r = r ?: sum_kinds(s, strata, division_taken(&s->d, strata));
	for (size_t k = 0; r == 0 && k < n_keys && ret->n_keys < SLOW_KEYS; k++)
		r = divide_by_given(s, strata, keys[k], ret);
	r = r ?: sum_kinds(s, strata, division_taken(&s->d, strata));
	if (r < 0)
		return r;
	variance = variance_within(s);
	cost = cost_of(s, variance);
	r = !isnan(variance);
	while (r > 0 && ret->n_keys < SLOW_KEYS)
		r = divide(s, strata, &variance, &cost, ret);
	return r < 0 ? r : sum_kinds(s, strata, division_taken(&s->d, strata));
}

/* Kish's effective number of requests. */
static double effective(const struct kind_sums *k, int side)
{
	return k->of[side] * k->of[side] / k->of_square[side];
}

static void sum_ratios(struct sorting *s)
{
	for (size_t i = 0; i < s->requests.n; i++) {
		const struct request *r = &s->requests.v[i];
		const struct division_row *row = &s->d.rows.v[i];
		double ratio = fmin(exp(r->log), SLOW_MOST);

		s->kinds.v[row->stratum].ratios[row->side] += r->weight * ratio;
		s->kinds.v[row->stratum].ratio_squares[row->side] += r->weight * ratio * ratio;
	}
}

struct moment {
	int64_t start;
	size_t at; /* those that began at the same time stay in the order of their ids' hashes */
	double off; /* of the mean; then the sum of all until here */
};

ORDER(by_start, struct moment, ASCENDING(start) ?: ASCENDING(at))

/* By overlapping batches of the baseline's requests (Meketon and Schmeiser, 1984): load that wanders slows down many requests after another. */
static int find_drift(const struct sorting *s, struct span_slow *ret)
{
	_cleanup_free_ struct moment *v = calloc(s->requests.n + 1, sizeof(*v));
	double mean = 0, variance = 0, sum = 0;
	size_t n = 0, batch, batches = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < s->requests.n; i++)
		if (!s->d.rows.v[i].side)
			v[n++] = (struct moment){s->requests.v[i].start, i, fmin(exp(s->requests.v[i].log), SLOW_MOST)};
	batch = n / BATCHES;
	if (batch < BATCH_LEAST)
		return 0;
	qsort(v, n, sizeof(*v), by_start);
	for (size_t i = 0; i < n; i++)
		mean += v[i].off / (double)n;
	for (size_t i = 0; i < n; i++) {
		variance += (v[i].off - mean) * (v[i].off - mean) / (double)n;
		v[i].off = (i ? v[i - 1].off : 0) + v[i].off - mean;
	}
	for (size_t end = batch; end <= n; end += batch / 2, batches++) {
		double off = v[end - 1].off - (end > batch ? v[end - 1 - batch].off : 0);

		sum += off * off;
	}
	if (variance > 0)
		ret->drift = fmax(1, sum / (double)batches / ((double)batch * variance * (1 - 1. / BATCHES)));
	return 0;
}

/* Kinds by the inverse of the variance of their differences, as if it were the same for all requests (Cochran, 1954). */
static void find_shift(struct sorting *s, struct span_slow *ret)
{
	double sum = 0, weight = 0, squares = 0, freedom = 0, level = 0;

	sum_ratios(s);
	VEC_EACH(k, s->kinds) {
		double mean[2], of_kind;

		if (!(k->of[0] > 0) || !(k->of[1] > 0))
			continue;
		for (int side = 0; side < 2; side++) {
			mean[side] = k->ratios[side] / k->of[side];
			squares += effective(k, side) * (k->ratio_squares[side] / k->of[side] - mean[side] * mean[side]);
			freedom += effective(k, side) - 1;
		}
		of_kind = 1 / (1 / effective(k, 0) + 1 / effective(k, 1));
		sum += of_kind * (mean[1] - mean[0]);
		level += of_kind * mean[0];
		weight += of_kind;
	}
	ret->shift_freedom = freedom;
	ret->shift = freedom > 0 ? sum / level : NAN;
	ret->shift_error = freedom > 0 ? sqrt(ret->drift * squares / freedom * weight) / level : NAN;
}

ORDER(by_log, struct request, ASCENDING(log))

/* The values with a share of the weight at or below them; sorts. */
static void find_quantiles(struct request *v, size_t n, double ret[SLOW_QUANTILES])
{
	static const double shares[SLOW_QUANTILES] = {.95, .967, .978, .985, .99};
	double all = 0, sum = 0;
	size_t i = 0;

	qsort(v, n, sizeof(*v), by_log);
	for (size_t k = 0; k < n; k++)
		all += v[k].weight;
	for (size_t q = 0; q < SLOW_QUANTILES; q++) {
		while (i < n - 1 && sum + v[i].weight < shares[q] * all)
			sum += v[i++].weight;
		ret[q] = v[i].log;
	}
}

static void count_beyond(struct sorting *s, double from, double least, struct span_slow_share *ret)
{
	for (size_t i = 0; i < s->kinds.n; i++)
		s->kinds.v[i].beyond[0] = s->kinds.v[i].beyond[1] = s->kinds.v[i].far = 0;
	for (size_t i = 0; i < s->requests.n; i++) {
		const struct division_row *row = &s->d.rows.v[i];

		if (s->requests.v[i].log > from)
			s->kinds.v[row->stratum].beyond[row->side] += s->requests.v[i].weight;
		if (row->side && s->requests.v[i].log > from + log1p(least))
			s->kinds.v[row->stratum].far += s->requests.v[i].weight;
	}
	*ret = (struct span_slow_share){.times = exp(from)};
	VEC_EACH(k, s->kinds) {
		double n[2], x[2];

		if (!(k->of[0] > 0) || !(k->of[1] > 0))
			continue;
		for (int side = 0; side < 2; side++) {
			n[side] = effective(k, side);
			x[side] = n[side] * k->beyond[side] / k->of[side];
		}
		ret->after += x[1];
		ret->beyond += n[1] * k->far / k->of[1];
		ret->usual += x[0] / n[0] * n[1];
		ret->all += x[0] + x[1];
		ret->expected += (x[0] + x[1]) * n[1] / (n[0] + n[1]);
	}
}

static void center(struct sorting *s)
{
	for (size_t i = 0; i < s->requests.n; i++) {
		const struct kind_sums *k = &s->kinds.v[s->d.rows.v[i].stratum];

		s->requests.v[i].log -= k->sum / k->weight;
	}
}

static int count_slow(struct sorting *s, double least, struct span_slow *ret)
{
	_cleanup_free_ struct request *sorted = calloc(s->requests.n + 1, sizeof(*sorted));
	double quantiles[SLOW_QUANTILES];

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, s->requests.v, s->requests.n * sizeof(*sorted));
	find_quantiles(sorted, s->requests.n, quantiles);
	for (size_t q = 0; q < SLOW_QUANTILES; q++)
		count_beyond(s, quantiles[q], least, &ret->at[q]);
	VEC_EACH(k, s->kinds)
		ret->requests += k->of[0] > 0 && k->of[1] > 0 ? effective(k, 1) : 0;
	return 0;
}

static void judge(struct span_slow *s)
{
	s->worst = SLOW_QUANTILES;
	s->p = 1;
	for (size_t q = 0; q < SLOW_QUANTILES; q++) {
		const struct span_slow_share *x = &s->at[q];
		double p;

		if (x->beyond < SLOW_TIMES * x->usual || x->beyond < x->usual + SLOW_LEAST * s->requests || x->after < x->expected + 1)
			continue;
		p = SLOW_QUANTILES * welch_binomial_p(x->after, x->all, x->expected / x->all);
		if (p >= s->p)
			continue;
		s->p = p;
		s->worst = q;
	}
}

int span_slow_find(const struct forest *f, const struct span_pair *pairs, size_t n, const uint32_t *keys, size_t n_keys, double least,
		   struct span_slow *ret)
{
	_cleanup_(sorting_free) struct sorting s = {.d.names = f->names, .pairs = n};
	int r = 0;

	*ret = (struct span_slow){.shift = NAN, .shift_error = NAN, .drift = 1};
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = add_side(&s, f, pairs[i].before, 0, i);
		r = r ?: add_side(&s, f, pairs[i].after, 1, i);
	}
	if (r == 0 && s.requests.n)
		r = find_kinds(&s, keys, n_keys, ret);
	if (r == 0 && s.requests.n) {
		center(&s);
		r = find_drift(&s, ret);
	}
	if (r == 0 && s.requests.n) {
		find_shift(&s, ret);
		r = count_slow(&s, least, ret);
	}
	judge(ret);
	return r;
}
