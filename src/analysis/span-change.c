#include "analysis/span-change.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/span-vertex.h"
#include "stat/rank.h"

#define SHRINK 3 /* calls: scores of services that were called less count less */

void span_change_free(struct span_change *c)
{
	for (size_t i = 0; i < c->buckets.n; i++)
		VEC_FREE(c->buckets.v[i].vertices);
	VEC_FREE(c->buckets);
	VEC_FREE(c->services);
}

const char *span_reason_name(enum span_reason reason)
{
	static const char *const names[REASON_COUNT] = {"none", "slower", "more calls", "retries", "sequential", "new", "one host"};

	return names[reason];
}

const char *span_verdict_name(enum span_verdict verdict)
{
	static const char *const names[] = {"same", "slower", "faster", "unclear"};

	return names[verdict];
}

/* --- one bucket ------------------------------------------------------------------------------------------------------- */

static int by_gain(const void *a, const void *b)
{
	const struct vertex_change *x = a, *y = b;
	double dx = x->after - x->before, dy = y->after - y->before;

	return dx > dy ? -1 : dx < dy ? 1 : x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

double moments_p(const struct moments *before, const struct moments *after, double superiority)
{
	const struct sample_moments a = moments_sample(before), b = moments_sample(after);
	double df = 0, t = welch_t(&a, &b, &df), by_mean = isnan(t) ? 1 : student_p(t, df),
	       by_rank = mann_whitney_p(superiority, a.n, b.n);

	return fmin(1, 2 * fmin(by_mean, isnan(by_rank) ? 1 : by_rank));
}

static void test_bucket(struct bucket_change *c)
{
	const struct moments *a = &c->before->total, *b = &c->after->total;
	double difference = c->mean_after - c->mean_before;
	double error = sqrt(moments_variance(a) / moments_effective(a) + moments_variance(b) / moments_effective(b));

	c->superiority = sketch_superiority(c->before->sketch, c->after->sketch);
	c->low = difference - 1.96 * error;
	c->high = difference + 1.96 * error;
	c->p = moments_p(a, b, c->superiority);
}

/* A few very long requests make every mean unsure; then the ranks and the p95 say whether anything moved. */
static bool alike(const struct bucket_change *c)
{
	double na = moments_effective(&c->before->total), nb = moments_effective(&c->after->total);
	double error = sqrt((na + nb + 1) / (12 * na * nb));

	return c->superiority + 1.96 * error < .56 &&
	       sketch_quantile(c->after->sketch, .95) < (1 + 2 * SPAN_TOLERANCE) * sketch_quantile(c->before->sketch, .95);
}

static enum span_verdict judge(const struct bucket_change *c)
{
	double tolerated = SPAN_TOLERANCE * c->mean_before, difference = c->mean_after - c->mean_before;
	double median = sketch_quantile(c->before->sketch, .5), moved = sketch_quantile(c->after->sketch, .5) - median;

	if (moments_effective(&c->before->total) < SPAN_LEAST || moments_effective(&c->after->total) < SPAN_LEAST)
		return VERDICT_UNCLEAR;
	if (c->q <= SPAN_Q && (difference > tolerated || (moved > SPAN_TOLERANCE * median && difference > 0)))
		return VERDICT_SLOWER;
	if (c->q <= SPAN_Q && difference < -tolerated)
		return VERDICT_FASTER;
	return c->high <= 2 * tolerated || alike(c) ? VERDICT_SAME : VERDICT_UNCLEAR;
}

static int compare_bucket(const struct forest *f, uint32_t index, const uint32_t sets[2], struct span_change *ret)
{
	const struct bucket *b = &f->buckets.v[index];
	struct bucket_change c = {.bucket = index, .p = 1, .q = 1, .verdict = VERDICT_UNCLEAR, .superiority = NAN, .low = NAN,
				  .high = NAN, .mean_before = NAN, .mean_after = NAN};
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
	ret->only_before += c.before && !c.after;
	ret->only_after += c.after && !c.before;
	if (c.before && c.after) {
		test_bucket(&c);
		for (uint32_t v = 0; r == 0 && v < f->vertices.n; v++)
			r = span_change_vertex(f, &c, v);
		qsort(c.vertices.v, c.vertices.n, sizeof(*c.vertices.v), by_gain);
	}
	if (r == 0)
		r = VEC_PUSH(ret->buckets, c);
	if (r < 0)
		VEC_FREE(c.vertices);
	return r;
}

static double cost(const struct bucket_change *c)
{
	return c->before && c->after ? (c->mean_after - c->mean_before) * moments_count(&c->after->total) : 0;
}

static int by_verdict(const void *a, const void *b)
{
	const struct bucket_change *x = a, *y = b;
	bool slow_x = x->verdict == VERDICT_SLOWER, slow_y = y->verdict == VERDICT_SLOWER;

	if (slow_x != slow_y)
		return slow_x ? -1 : 1;
	return cost(x) > cost(y) ? -1 : cost(x) < cost(y) ? 1 : x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

/* Benjamini-Hochberg over buckets that both sides have. */
static int judge_buckets(struct span_change *c)
{
	double *p = calloc(c->buckets.n + 1, sizeof(*p));
	size_t n = 0;
	int r;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < c->buckets.n; i++)
		if (c->buckets.v[i].before && c->buckets.v[i].after)
			p[n++] = c->buckets.v[i].p;
	r = benjamini_hochberg(p, n);
	n = 0;
	for (size_t i = 0; r == 0 && i < c->buckets.n; i++) {
		struct bucket_change *b = &c->buckets.v[i];

		if (!b->before || !b->after)
			continue;
		b->q = p[n++];
		b->verdict = judge(b);
	}
	free(p);
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
	for (size_t i = 0; i < c->buckets.n; i++)
		within += cost(&c->buckets.v[i]);
	c->within = within / moments_count(&after);
	c->mix = c->mean_after - c->mean_before - c->within;
}

/* --- services --------------------------------------------------------------------------------------------------------- */

static int add_service(struct span_change *ret, uint32_t service, const struct cell *x, const struct cell *y)
{
	double before = cell_each(x), calls = moments_count(&y->duration);
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
	s->got += cell_each(y) * calls;
	s->calls += fmin((double)x->duration.samples, (double)y->duration.samples);
	return 0;
}

static int by_score(const void *a, const void *b)
{
	const struct service_change *x = a, *y = b;

	return x->score > y->score ? -1 : x->score < y->score;
}

/* An edge belongs to its callee: the network in front of it, and its queue. */
static int compare_services(const struct forest *f, struct span_change *ret)
{
	for (size_t i = 0; i < ret->buckets.n; i++) {
		const struct bucket_change *c = &ret->buckets.v[i];

		for (size_t k = 0; c->before && c->after && k < c->after->cells.n; k++) {
			const struct cell *y = &c->after->cells.v[k], *x = group_cell(c->before, y->vertex);

			if (x && x->duration.count && add_service(ret, f->vertices.v[y->vertex].service, x, y) < 0)
				return -ENOMEM;
		}
	}
	for (size_t i = 0; i < ret->services.n; i++) {
		struct service_change *s = &ret->services.v[i];

		s->score = s->expected > 0 && s->got > 0 ? log(s->got / s->expected) * s->calls / (s->calls + SHRINK) : 0;
	}
	if (ret->services.n)
		qsort(ret->services.v, ret->services.n, sizeof(*ret->services.v), by_score);
	return 0;
}

int span_change(const struct forest *f, struct span_change *ret)
{
	const uint32_t sets[2] = {span_side_set(f->names, SIDE_BASELINE), span_side_set(f->names, SIDE_CANDIDATE)};
	int r = 0;

	*ret = (struct span_change){};
	for (uint32_t i = 0; r == 0 && i < f->buckets.n; i++)
		r = compare_bucket(f, i, sets, ret);
	if (r == 0)
		r = judge_buckets(ret);
	if (r == 0)
		r = compare_services(f, ret);
	if (r == 0) {
		split_mix(ret);
		if (ret->buckets.n)
			qsort(ret->buckets.v, ret->buckets.n, sizeof(*ret->buckets.v), by_verdict);
	} else {
		span_change_free(ret);
	}
	return r;
}

enum span_verdict span_change_gate(const struct span_change *c)
{
	double all = 0, told = 0;

	for (size_t i = 0; i < c->buckets.n; i++) {
		const struct bucket_change *b = &c->buckets.v[i];
		double weight = b->after ? moments_count(&b->after->total) : 0;

		if (b->verdict == VERDICT_SLOWER)
			return VERDICT_SLOWER;
		all += weight;
		told += b->verdict == VERDICT_UNCLEAR ? 0 : weight;
	}
	return all > 0 && told >= .8 * all ? VERDICT_SAME : VERDICT_UNCLEAR;
}
