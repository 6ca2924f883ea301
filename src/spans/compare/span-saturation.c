#include "spans/compare/span-saturation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"
#include "lib/stat/robust.h"
#include "spans/compare/span-vertex.h"
#include "spans/forest/forest.h"

#define BIN_LEAST    25  /* requests: their rate is known to a fifth */
#define BINS	     100 /* of the candidate, at most */
#define BINS_LEAST   12	 /* of either side */
#define TORN	     .5	  /* of a bin's time without a request: there are two times in it */
#define AT_ONCE	     .1	  /* of the candidate's requests began among the baseline's: the sides share their load */
#define MORE	     1.1  /* times as many requests begin: more */
#define BEYOND	     1.05 /* times the most there were: never so many */
#define RATES_DIFFER .5	  /* of the variance of bins' rates is more than chance: then times at other rates are known */
#define P_LEAST	     .01  /* of a slope, and of more requests */
#define GROWN	     1.5  /* times as long at the end as at the beginning */
#define LINE_LEAVES  .5	  /* of the variance, at most */
#define WAIT_Z	     3.0
#define WAIT_TIMES   1.2
#define WAIT_SHARE   .1 /* of the rise, at least */

struct arrival {
	int64_t start;
	double took; /* of the bucket's mean before */
	double weight;
};

struct bin {
	double rate, took, seconds; /* seconds: of each request, as the first begins the bin's time and is not of its rate */
};

struct arrivals {
	VEC(struct arrival) list; /* by start */
	VEC(struct bin) bins;
};

static void arrivals_free(struct arrivals *a)
{
	VEC_FREE(a->list);
	VEC_FREE(a->bins);
}

ORDER(by_start, struct arrival, ASCENDING(start) ?: ASCENDING(took))

static int gather(const struct forest *f, const struct span_change *c, int side, struct arrivals *ret)
{
	VEC_EACH(b, c->buckets) {
		const struct forest_group *g = side ? b->after : b->before;

		for (size_t k = 0; b->before && b->after && k < g->requests.n; k++) {
			const struct sampled_request *r = &g->requests.v[k];
			struct arrival one = {r->start, (double)r->duration / b->mean_before, forest_request_weight(f, r)};

			if (b->mean_before > 0 && VEC_PUSH(ret->list, one) < 0)
				return -ENOMEM;
		}
	}
	VEC_SORT(ret->list, by_start);
	return 0;
}

static int add_bin(const struct arrival *v, size_t n, struct arrivals *to)
{
	double seconds = (double)(v[n - 1].start - v[0].start) / NS_PER_SEC, gap = 0, began = 0, took = 0, weight = 0;

	for (size_t i = 0; i < n; i++) {
		gap = i ? fmax(gap, (double)(v[i].start - v[i - 1].start) / NS_PER_SEC) : 0;
		began += i ? v[i].weight : 0;
		took += v[i].took * v[i].weight;
		weight += v[i].weight;
	}
	if (!(seconds > 0) || gap > TORN * seconds)
		return 0;
	return VEC_PUSH(to->bins, (struct bin){began / seconds, took / weight, seconds / began});
}

static int make_bins(struct arrivals *a, size_t each)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + each <= a->list.n; i += each)
		r = add_bin(a->list.v + i, each, a);
	return r;
}

/* The share of the candidate's requests that began while the baseline's ran. */
static double at_once(const struct arrivals *before, const struct arrivals *after)
{
	int64_t from = before->list.v[0].start, to = before->list.v[before->list.n - 1].start;
	size_t n = 0;

	for (size_t i = 0; i < after->list.n; i++)
		n += after->list.v[i].start >= from && after->list.v[i].start <= to;
	return (double)n / (double)after->list.n;
}

static struct sample_moments of_bins(const struct bin *v, size_t n, size_t offset)
{
	struct sample_moments m = {.n = (double)n};

	for (size_t i = 0; i < n; i++)
		m.mean += *(const double *)((const char *)&v[i] + offset) / m.n;
	for (size_t i = 0; i < n; i++) {
		double off = *(const double *)((const char *)&v[i] + offset) - m.mean;

		m.variance += off * off / m.n;
	}
	return m;
}

static struct sample_moments rates(const struct bin *v, size_t n)
{
	return of_bins(v, n, offsetof(struct bin, rate));
}

static struct sample_moments times(const struct bin *v, size_t n)
{
	return of_bins(v, n, offsetof(struct bin, took));
}

static struct sample_moments intervals(const struct bin *v, size_t n)
{
	return of_bins(v, n, offsetof(struct bin, seconds));
}

/* --- how much longer requests take where more begin -------------------------------------------------------------------- */

/* As far as bins' rates differ by more than chance; NaN: it is not known. */
static double true_variance(const struct sample_moments *rate, size_t each)
{
	double left = rate->variance - rate->mean * rate->mean / (double)(each - 1);

	return left > RATES_DIFFER * rate->variance ? left : NAN;
}

/* The relative time by the rate; 0 where none is sure. */
static double slope_of(const struct arrivals *before, size_t each)
{
	struct sample_moments rate = rates(before->bins.v, before->bins.n), took = times(before->bins.v, before->bins.n);
	double variance = true_variance(&rate, each), both = 0, n = (double)before->bins.n, r, t;

	for (size_t i = 0; i < before->bins.n; i++)
		both += (before->bins.v[i].rate - rate.mean) * (before->bins.v[i].took - took.mean) / n;
	r = both / sqrt(rate.variance * took.variance);
	t = r * sqrt((n - 2) / (1 - r * r));
	return isnan(variance) || !(t > 0) || welch_student_p(t, n - 2) > P_LEAST ? 0 : both / variance;
}

/* The rate that is not exceeded in 95 % of the baseline's time, without what chance adds. */
static int find_most(const struct arrivals *before, size_t each, double *ret)
{
	_cleanup_free_ struct weighted_value *v = calloc(before->bins.n, sizeof(*v));
	struct sample_moments rate = rates(before->bins.v, before->bins.n);
	double variance = rate.variance - rate.mean * rate.mean / (double)(each - 1), mean = 1 / intervals(before->bins.v, before->bins.n).mean, high;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < before->bins.n; i++)
		v[i] = (struct weighted_value){before->bins.v[i].rate, before->bins.v[i].seconds};
	qsort(v, before->bins.n, sizeof(*v), robust_compare_weighted);
	high = robust_quantile_weighted(v, before->bins.n, .95);
	*ret = mean + (high - mean) * (variance > 0 ? sqrt(variance / rate.variance) : 0);
	return 0;
}

static bool is_more(const struct arrivals *before, const struct arrivals *after)
{
	struct sample_moments a = intervals(before->bins.v, before->bins.n), b = intervals(after->bins.v, after->bins.n);
	double df, t = welch_t(&a, &b, &df);

	return MORE * b.mean < a.mean && (isinf(t) || welch_student_p(t, df) <= P_LEAST);
}

/* --- a queue that grows ------------------------------------------------------------------------------------------------ */

/* Sum of squares that the best single step in a series leaves. */
static double left_by_step(const struct bin *v, size_t n)
{
	double all = 0, squares = 0, sum = 0, least = INFINITY;

	for (size_t i = 0; i < n; i++) {
		all += v[i].took;
		squares += v[i].took * v[i].took;
	}
	for (size_t i = 1; i < n; i++) {
		sum += v[i - 1].took;
		least = fmin(least, squares - sum * sum / (double)i - (all - sum) * (all - sum) / (double)(n - i));
	}
	return least;
}

/* A line over the series from `first` to `last`; the sum of squares that it leaves. */
static double left_by_line(const struct bin *v, size_t n, size_t offset, double *ret_first, double *ret_last)
{
	struct sample_moments m = of_bins(v, n, offset);
	double middle = ((double)n - 1) / 2, both = 0, squares = 0;

	for (size_t i = 0; i < n; i++) {
		both += ((double)i - middle) * (*(const double *)((const char *)&v[i] + offset) - m.mean);
		squares += ((double)i - middle) * ((double)i - middle);
	}
	*ret_first = m.mean - middle * both / squares;
	*ret_last = m.mean + middle * both / squares;
	return m.n * m.variance - both * both / squares;
}

/* The times rise along a line, which says more than one step at some moment does, and by more than the rates do. */
static bool grows(const struct arrivals *after, struct span_saturation *ret)
{
	const struct bin *v = after->bins.v;
	size_t n = after->bins.n;
	double rate[2], line = left_by_line(v, n, offsetof(struct bin, took), &ret->first, &ret->last);

	left_by_line(v, n, offsetof(struct bin, rate), &rate[0], &rate[1]);
	ret->first = fmax(ret->first, 1);
	return ret->last >= GROWN * ret->first && line < left_by_step(v, n) && line < LINE_LEAVES * (double)n * times(v, n).variance &&
	       ret->last / ret->first - 1 > 2 * (rate[1] / rate[0] - 1);
}

static enum saturation_verdict judge(const struct span_change *c, const struct arrivals side[2], struct span_saturation *ret)
{
	struct sample_moments before = times(side[0].bins.v, side[0].bins.n), after = times(side[1].bins.v, side[1].bins.n);

	if (span_change_gate(c) == VERDICT_UNCLEAR)
		return SATURATION_UNCLEAR;
	if (!span_is_regression(span_change_gate(c)) || after.mean <= before.mean * (1 + c->least))
		return SATURATION_NORMAL;
	if (grows(&side[1], ret))
		return SATURATION_GROWING;
	if (!is_more(&side[0], &side[1]))
		return SATURATION_SLOWER;
	if (ret->rate[1] > BEYOND * ret->most_before)
		return SATURATION_BEYOND;
	return ret->by_load >= .5 ? SATURATION_LOAD : SATURATION_SLOWER;
}

static int measure(const struct span_change *c, const struct arrivals side[2], size_t each, struct span_saturation *ret)
{
	struct sample_moments before = times(side[0].bins.v, side[0].bins.n), after = times(side[1].bins.v, side[1].bins.n);
	/* as requests meet them, most of which begin when many do */
	double more = rates(side[1].bins.v, side[1].bins.n).mean - rates(side[0].bins.v, side[0].bins.n).mean, by_load = slope_of(&side[0], each) * fmax(more, 0);
	int r = find_most(&side[0], each, &ret->most_before);

	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++)
		ret->rate[i] = 1 / intervals(side[i].bins.v, side[i].bins.n).mean;
	ret->normal = fmin(1, (before.mean + by_load) / after.mean);
	ret->by_load = after.mean > before.mean ? fmin(1, by_load / (after.mean - before.mean)) : NAN;
	ret->verdict = judge(c, side, ret);
	return 0;
}

/* --- where calls wait ---------------------------------------------------------------------------------------------------- */

/* The way to a service, of the calls that both sides make. */
struct wait {
	uint32_t service;
	double calls, before, after; /* of the candidate; ns, sums over them */
	double variance;
	double ran[2]; /* ns that calls of it ran, on either side */
};

struct waits {
	VEC(struct wait) list;
};

static struct wait *wait_for(struct waits *w, uint32_t service)
{
	for (size_t i = 0; i < w->list.n; i++)
		if (w->list.v[i].service == service)
			return &w->list.v[i];
	return VEC_PUSH(w->list, (struct wait){.service = service}) < 0 ? NULL : &w->list.v[w->list.n - 1];
}

/* Without spans of its own a service's work would count as the way to it. */
static const struct cell *served(const struct forest *f, const struct forest_group *g, uint32_t edge)
{
	return VEC_FIND(x, g->cells, f->vertices.v[x->vertex].parent == edge && 2 * x->duration.samples > forest_group_cell(g, edge)->duration.samples);
}

/* ns that a vertex's calls took in all. */
static double ran(const struct cell *c)
{
	return (double)c->duration.sum / (double)SPAN_WEIGHT_ONE;
}

static int add_edge(const struct forest *f, const struct bucket_change *b, const struct cell *y, struct waits *to)
{
	const struct cell *x = forest_group_cell(b->before, y->vertex), *own[2];
	struct sample_moments was, is;
	double calls = moments_count(&y->self);
	struct wait *w;

	if (!x || !x->self.count || !(own[0] = served(f, b->before, y->vertex)) || !(own[1] = served(f, b->after, y->vertex)))
		return 0;
	w = wait_for(to, f->vertices.v[y->vertex].service);
	if (!w)
		return -ENOMEM;
	was = span_vertex_sample(&x->self);
	is = span_vertex_sample(&y->self);
	w->calls += calls;
	w->before += calls * was.mean;
	w->after += calls * is.mean;
	/* calls of one request wait together: they count for no more than requests */
	w->variance += calls * calls * (was.variance / fmin(was.n, (double)b->before->total.samples) + is.variance / fmin(is.n, (double)b->after->total.samples));
	for (int side = 0; side < 2; side++)
		w->ran[side] += ran(own[side]);
	return 0;
}

/* The service before which its callers came to wait most, beyond chance and by more than matters. */
static int find_wait(const struct forest *f, const struct span_change *c, const double seconds[2], struct span_saturation *ret)
{
	struct waits waits = {};
	double most = fmax(c->least * c->mean_before, WAIT_SHARE * (c->mean_after - c->mean_before)) * c->requests_after, drift = fmax(c->all.for_kind.drift, 1);
	int r = 0;

	VEC_EACH(b, c->buckets)
		for (size_t k = 0; b->before && b->after && k < b->after->cells.n && r == 0; k++)
			if (f->vertices.v[b->after->cells.v[k].vertex].kind == VERTEX_EDGE)
				r = add_edge(f, b, &b->after->cells.v[k], &waits);
	VEC_EACH(w, waits.list) {
		double rise = w->after - w->before;

		if (rise <= most || w->after < WAIT_TIMES * w->before || rise <= WAIT_Z * sqrt(drift * w->variance))
			continue;
		most = rise;
		ret->service = w->service;
		ret->wait_before = w->before / w->calls;
		ret->wait_after = w->after / w->calls;
		for (int side = 0; side < 2; side++)
			ret->calls[side] = seconds[side] > 0 ? w->ran[side] / NS_PER_SEC / seconds[side] : NAN;
	}
	VEC_FREE(waits.list);
	return r;
}

int span_saturation_find(const struct forest *f, const struct span_change *c, const double seconds[2], struct span_saturation *ret)
{
	struct arrivals side[2] = {};
	int r = gather(f, c, 0, &side[0]);
	size_t each;

	*ret = (struct span_saturation){.rate = {NAN, NAN}, .most_before = NAN, .normal = NAN, .by_load = NAN, .first = NAN, .last = NAN,
					.wait_before = NAN, .wait_after = NAN, .calls = {NAN, NAN}};
	r = r ?: gather(f, c, 1, &side[1]);
	each = side[1].list.n / BINS > BIN_LEAST ? side[1].list.n / BINS : BIN_LEAST;
	for (int i = 0; r == 0 && i < 2; i++)
		r = make_bins(&side[i], each);
	if (r == 0 && side[0].bins.n >= BINS_LEAST && side[1].bins.n >= BINS_LEAST && at_once(&side[0], &side[1]) <= AT_ONCE)
		r = measure(c, side, each, ret);
	if (r == 0 && span_is_regression(span_change_gate(c)))
		r = find_wait(f, c, seconds, ret);
	for (int i = 0; i < 2; i++)
		arrivals_free(&side[i]);
	return r;
}
