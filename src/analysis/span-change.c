#include "analysis/span-change.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/rank.h"
#include "stat/welch.h"

#define FAN_OUT	  1.25 /* more calls a parent call than this times before */
#define SERIAL	  0.5  /* of what a vertex added, if lost overlap explains it */
#define SERIAL_LEAST 0.95 /* of the calls at a time there were */
#define SHRINK	  3    /* calls: scores of services that were called less count less */
#define HOST_SLOWER 2  /* times the other hosts' mean */
#define LEAF_ATTRIBUTES 256

static uint32_t side_set(struct names *names, enum span_side side)
{
	const char *value = span_side_name(side);
	struct attribute one = {names_text(names, "side", 4), names_text(names, value, strlen(value))};

	return names_set(names, 0, &one, 1);
}

/* "agent version": so that it is no attribute's name. */
static uint32_t version_key(struct names *names, uint32_t package)
{
	char text[NAME_TEXT_MAX];

	snprintf(text, sizeof(text), "%s version", names_get(names, package));
	return names_text(names, text, strlen(text));
}

/* The group's leaves, what they ran as among their attributes: sides put versions together. */
static int label_leaves(struct names *names, const struct group *from, struct group *to)
{
	struct attribute v[LEAF_ATTRIBUTES];
	uint32_t versions[LEAF_ATTRIBUTES];
	const struct attribute_set *set = names_get_set(names, from->versions);
	size_t n_versions = set->n < LEAF_ATTRIBUTES / 2 ? set->n : LEAF_ATTRIBUTES / 2;

	to->leaves.v = calloc(from->leaves.n + 1, sizeof(*to->leaves.v));
	if (!to->leaves.v)
		return -ENOMEM;
	for (size_t i = 0; i < n_versions; i++)
		versions[i] = version_key(names, set->v[i].key);
	for (size_t i = 0; i < from->leaves.n; i++) {
		const struct attribute_set *own = names_get_set(names, from->leaves.v[i].set);
		size_t n = 0;

		set = names_get_set(names, from->versions);
		for (size_t k = 0; k < n_versions; k++)
			v[n++] = (struct attribute){versions[k], set->v[k].value};
		for (uint32_t k = 0; k < own->n && n < LEAF_ATTRIBUTES; k++)
			v[n++] = own->v[k];
		to->leaves.v[i] = from->leaves.v[i];
		if (from->leaves.v[i].set)
			to->leaves.v[i].set = names_set(names, own->service, v, n);
	}
	return 0;
}

/* A copy of the forest's frame whose groups are labelled by their side; all but the leaves is shared. */
static int relabel(const struct forest *f, enum span_side (*side)(void *, const struct bucket *, const struct group *),
		   void *state, struct forest *ret)
{
	struct bucket *buckets = calloc(f->buckets.n + 1, sizeof(*buckets));
	struct forest copy = *f;
	int r = buckets ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < f->buckets.n; i++) {
		const struct bucket *b = &f->buckets.v[i];
		struct group *groups = calloc(b->groups.n + 1, sizeof(*groups));

		buckets[i] = *b;
		buckets[i].groups.v = groups;
		buckets[i].groups.n = 0;
		for (size_t j = 0; groups && j < b->groups.n; j++) {
			enum span_side which = side(state, b, &b->groups.v[j]);
			struct group *g = &groups[buckets[i].groups.n];

			if (which == SIDE_NONE || r < 0)
				continue;
			*g = b->groups.v[j];
			r = label_leaves(f->names, &b->groups.v[j], g);
			g->versions = side_set(f->names, which);
			buckets[i].groups.n++;
		}
		r = groups ? r : -ENOMEM;
	}
	copy.buckets.v = buckets;
	if (r == 0)
		r = forest_merge(ret, &copy);
	for (size_t i = 0; buckets && i < f->buckets.n; i++) {
		if (!buckets[i].groups.v || buckets[i].groups.v == f->buckets.v[i].groups.v)
			continue;
		for (size_t j = 0; j < buckets[i].groups.n; j++)
			free(buckets[i].groups.v[j].leaves.v);
		free(buckets[i].groups.v);
	}
	free(buckets);
	return r;
}

int span_change_forest(const struct forest *f, enum span_side (*side)(void *, const struct bucket *, const struct group *),
		       void *state, struct forest *ret)
{
	return relabel(f, side, state, ret);
}

struct whole {
	const struct forest *f;
	enum span_side side;
	bool (*selected)(const struct forest *f, const struct bucket *b);
};

static enum span_side whole_side(void *state, const struct bucket *b, const struct group *g)
{
	const struct whole *w = state;

	(void)g;
	return !w->selected || w->selected(w->f, b) ? w->side : SIDE_NONE;
}

int span_change_add(struct forest *ret, const struct forest *part, enum span_side side,
		    bool (*selected)(const struct forest *f, const struct bucket *b))
{
	struct whole w = {part, side, selected};
	struct forest copy = *part;

	if (side == SIDE_BASELINE)
		copy.places.n = 0; /* hosts are told apart in the candidate */
	return relabel(&copy, whole_side, &w, ret);
}

void span_change_free(struct span_change *c)
{
	for (size_t i = 0; i < c->buckets.n; i++)
		VEC_FREE(c->buckets.v[i].vertices);
	VEC_FREE(c->buckets);
	VEC_FREE(c->services);
}

const char *span_side_name(enum span_side side)
{
	return side == SIDE_BASELINE ? "baseline" : "candidate";
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

static double ratio(long double a, long double b)
{
	return b > 0 ? (double)(a / b) : NAN;
}

/* --- one vertex ------------------------------------------------------------------------------------------------------- */

static const struct cell *cell_of(const struct group *g, uint32_t vertex)
{
	return g && vertex != NO_VERTEX ? group_cell(g, vertex) : NULL;
}

static double of_request(const struct group *g, const struct cell *c)
{
	return c ? ratio((long double)c->path.sum, (long double)g->total.count) : 0;
}

static double calls_of(const struct forest *f, const struct group *g, const struct cell *c)
{
	const struct cell *parent = c ? cell_of(g, f->vertices.v[c->vertex].parent) : NULL;

	return c ? ratio((long double)c->duration.count, parent ? (long double)parent->duration.count : (long double)g->total.count) : 0;
}

static double each_of(const struct cell *c)
{
	return c ? ratio((long double)c->self, (long double)c->duration.count) : NAN;
}

static double parallel_of(const struct cell *c)
{
	return c ? ratio((long double)c->called, (long double)c->busy) : NAN;
}

/* Variance of a vertex's time on the path over all requests: those that have none there count as 0. */
static double path_variance(const struct group *g, const struct cell *c)
{
	double n = (double)g->total.count, m, squares;

	if (!c || !g->total.count)
		return 0;
	m = (double)((long double)c->path.sum / (long double)g->total.count);
	squares = (double)(((long double)c->path.square_high * 0x1p128L + (long double)c->path.square_low) / (long double)n);
	return squares > m * m ? squares - m * m : 0;
}

static double path_p(const struct group *a, const struct group *b, const struct cell *x, const struct cell *y)
{
	double na = moments_effective(&a->total), nb = moments_effective(&b->total);
	double error = sqrt(path_variance(a, x) / na + path_variance(b, y) / nb);

	return error > 0 ? normal_p((of_request(b, y) - of_request(a, x)) / error) : 1;
}

static struct sample_moments sample_of(const struct moments *m)
{
	return (struct sample_moments){moments_effective(m), moments_mean(m), moments_variance(m)};
}

/* By Welch's test: a single call that took forever makes no mean sure. */
static bool surely_greater(const struct moments *a, const struct moments *b, double level)
{
	const struct sample_moments x = sample_of(a), y = sample_of(b);
	double df = 0, t = welch_t(&y, &x, &df);

	return t > 0 && student_p(t, df) <= level;
}

/* One host whose calls take much longer than the others', when the others have not changed as much. */
static bool single_host(const struct forest *f, uint32_t bucket, uint32_t vertex, struct vertex_change *v)
{
	const struct place *worst = NULL;
	struct moments others = {};
	size_t hosts = 0;

	for (size_t i = 0; i < f->places.n; i++) {
		const struct place *p = &f->places.v[i];

		if (p->bucket != bucket || p->vertex != vertex || p->path.samples < 5)
			continue;
		hosts++;
		if (!worst || moments_mean(&p->path) > moments_mean(&worst->path))
			worst = p;
	}
	for (size_t i = 0; i < f->places.n && worst; i++)
		if (f->places.v[i].bucket == bucket && f->places.v[i].vertex == vertex && &f->places.v[i] != worst)
			moments_merge(&others, &f->places.v[i].path);
	if (hosts < 3 || moments_mean(&worst->path) < HOST_SLOWER * moments_mean(&others))
		return false;
	if (2 * worst->path.count > others.count || !surely_greater(&worst->path, &others, SPAN_Q / (double)hosts))
		return false;
	v->host = worst->host;
	v->host_mean = moments_mean(&worst->path);
	v->others_mean = moments_mean(&others);
	return true;
}

/* How much longer children ran per call of their parent than they would at the parallelism of before, ns. */
static double overlap_lost(const struct cell *x, const struct cell *y)
{
	double parallel = parallel_of(x);

	return ratio((long double)y->busy, (long double)y->duration.count) -
	       ratio((long double)y->called, (long double)y->duration.count) / parallel;
}

/* Its own siblings, or those of what called it, ran side by side before and do so less: that is most of what it adds. */
static bool serialised(const struct forest *f, const struct group *a, const struct group *b, struct vertex_change *v)
{
	if (v->each_after > 1.5 * v->each_before)
		return false;
	for (uint32_t u = v->vertex; u != NO_VERTEX; u = f->vertices.v[u].parent) {
		const struct cell *x = cell_of(a, f->vertices.v[u].parent), *y = cell_of(b, f->vertices.v[u].parent);
		double before = parallel_of(x), gain;

		if (!y || !(before > 1.1) || parallel_of(y) > SERIAL_LEAST * before)
			continue;
		gain = (v->after - v->before) * (double)b->total.count / (double)y->duration.count;
		if (overlap_lost(x, y) < SERIAL * gain)
			continue;
		v->through = u;
		v->parallel_before = before;
		v->parallel_after = parallel_of(y);
		return true;
	}
	return false;
}

/* It, or what called it, is called more often by its caller. */
static bool fanned_out(const struct forest *f, const struct group *a, const struct group *b, struct vertex_change *v)
{
	for (uint32_t u = v->vertex; u != NO_VERTEX; u = f->vertices.v[u].parent) {
		double before = calls_of(f, a, cell_of(a, u)), after = calls_of(f, b, cell_of(b, u));

		if (!(before > 0 && after > FAN_OUT * before))
			continue;
		v->through = u;
		v->calls_before = before;
		v->calls_after = after;
		return true;
	}
	return false;
}

static bool retried(const struct forest *f, const struct group *a, const struct group *b, struct vertex_change *v)
{
	for (uint32_t u = v->vertex; u != NO_VERTEX; u = f->vertices.v[u].parent) {
		const struct cell *x = cell_of(a, u), *y = cell_of(b, u);
		double before = x ? ratio((long double)x->retries, (long double)x->duration.count) : 0;

		if (!y || !(ratio((long double)y->retries, (long double)y->duration.count) > before + .02))
			continue;
		v->through = u;
		v->calls_before = calls_of(f, a, x);
		v->calls_after = calls_of(f, b, y);
		return v->calls_after > 1.02 * v->calls_before;
	}
	return false;
}

static enum span_reason reason_of(const struct forest *f, uint32_t bucket, const struct group *a, const struct group *b,
				  const struct cell *x, const struct cell *y, struct vertex_change *v)
{
	if (v->after <= v->before || !y)
		return REASON_NONE;
	if (!x)
		return REASON_NEW;
	if (retried(f, a, b, v))
		return REASON_RETRIES;
	if (fanned_out(f, a, b, v))
		return REASON_MORE_CALLS;
	if (serialised(f, a, b, v))
		return REASON_SEQUENTIAL;
	return single_host(f, bucket, v->vertex, v) ? REASON_ONE_HOST : REASON_SLOWER;
}

static int compare_vertex(const struct forest *f, struct bucket_change *c, uint32_t vertex)
{
	const struct cell *x = cell_of(c->before, vertex), *y = cell_of(c->after, vertex);
	struct vertex_change v = {
		.vertex = vertex,
		.through = vertex,
		.before = of_request(c->before, x),
		.after = of_request(c->after, y),
		.calls_before = calls_of(f, c->before, x),
		.calls_after = calls_of(f, c->after, y),
		.each_before = each_of(x),
		.each_after = each_of(y),
		.parallel_before = parallel_of(x),
		.parallel_after = parallel_of(y),
		.p = path_p(c->before, c->after, x, y),
	};

	if (!x && !y)
		return 0;
	if (v.p <= SPAN_Q) {
		c->gained += fmax(0, v.after - v.before);
		c->lost += fmax(0, v.before - v.after);
	}
	v.reason = reason_of(f, c->bucket, c->before, c->after, x, y, &v);
	return VEC_PUSH(c->vertices, v);
}

static int by_gain(const void *a, const void *b)
{
	const struct vertex_change *x = a, *y = b;
	double dx = x->after - x->before, dy = y->after - y->before;

	return dx > dy ? -1 : dx < dy ? 1 : x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

/* --- one bucket ------------------------------------------------------------------------------------------------------- */

double moments_p(const struct moments *before, const struct moments *after, double superiority)
{
	const struct sample_moments a = sample_of(before), b = sample_of(after);
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
			r = compare_vertex(f, &c, v);
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
	double before = each_of(x), calls = moments_count(&y->duration);
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
	s->got += each_of(y) * calls;
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
	const uint32_t sets[2] = {side_set(f->names, SIDE_BASELINE), side_set(f->names, SIDE_CANDIDATE)};
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
