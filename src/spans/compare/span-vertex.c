#include "spans/compare/span-vertex.h"

#include <math.h>

#define FAN_OUT	     1.25 /* more calls a parent call than this times before */
#define SERIAL	     0.5  /* of what a vertex added, if lost overlap explains it */
#define SERIAL_LEAST 0.95 /* of the calls at a time there were */
#define HOST_SLOWER  2	  /* times the other hosts' mean */

static double ratio(long double a, long double b)
{
	return b > 0 ? (double)(a / b) : NAN;
}

static const struct cell *cell_of(const struct forest_group *g, uint32_t vertex)
{
	return g && vertex != NO_VERTEX ? forest_group_cell(g, vertex) : NULL;
}

static double of_request(const struct forest_group *g, const struct cell *c)
{
	return c ? ratio((long double)c->path.sum, (long double)g->total.count) : 0;
}

static double calls_of(const struct forest *f, const struct forest_group *g, const struct cell *c)
{
	const struct cell *parent = c ? cell_of(g, f->vertices.v[c->vertex].parent) : NULL;

	return c ? ratio((long double)c->duration.count, parent ? (long double)parent->duration.count : (long double)g->total.count) : 0;
}

double span_vertex_mean(const struct cell *c)
{
	return c ? moments_mean(&c->self) : NAN;
}

static double parallel_of(const struct cell *c)
{
	return c ? ratio((long double)c->called, (long double)c->busy) : NAN;
}

/* Variance of a vertex's time on the path over all requests: those that have none there count as 0. */
static double path_variance(const struct forest_group *g, const struct cell *c)
{
	double n = (double)g->total.count, m, squares;

	if (!c || !g->total.count)
		return 0;
	m = (double)((long double)c->path.sum / (long double)g->total.count);
	squares = (double)(((long double)c->path.square_high * 0x1p128L + (long double)c->path.square_low) / (long double)n);
	return squares > m * m ? squares - m * m : 0;
}

static double path_p(const struct forest_group *a, const struct forest_group *b, const struct cell *x,
		     const struct cell *y)
{
	double na = moments_effective(&a->total), nb = moments_effective(&b->total);
	double error = sqrt(path_variance(a, x) / na + path_variance(b, y) / nb);

	return error > 0 ? welch_normal_p((of_request(b, y) - of_request(a, x)) / error) : 1;
}

struct sample_moments span_vertex_sample(const struct moments *m)
{
	return (struct sample_moments){moments_effective(m), moments_mean(m), moments_variance(m)};
}

/* By Welch's test: a single call that took forever makes no mean sure. */
static bool surely_greater(const struct moments *a, const struct moments *b, double level)
{
	const struct sample_moments x = span_vertex_sample(a), y = span_vertex_sample(b);
	double df = 0, t = welch_t(&y, &x, &df);

	return t > 0 && welch_student_p(t, df) <= level;
}

/* One host whose calls take much longer than the others', when the others have not changed as much. */
static bool single_host(const struct forest *f, uint32_t bucket, uint32_t vertex, struct vertex_change *v)
{
	const struct forest_place *worst = NULL;
	struct moments others = {};
	size_t hosts = 0;

	VEC_EACH(p, f->places) {
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
static bool serialised(const struct forest *f, const struct forest_group *a, const struct forest_group *b, struct vertex_change *v)
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
static bool fanned_out(const struct forest *f, const struct forest_group *a, const struct forest_group *b, struct vertex_change *v)
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

static bool retried(const struct forest *f, const struct forest_group *a, const struct forest_group *b, struct vertex_change *v)
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

static enum span_reason reason_of(const struct forest *f, uint32_t bucket, const struct forest_group *a, const struct forest_group *b,
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

int span_change_vertex(const struct forest *f, struct bucket_change *c, uint32_t vertex)
{
	const struct cell *x = cell_of(c->before, vertex), *y = cell_of(c->after, vertex);
	struct vertex_change v = {
		.vertex = vertex,
		.through = vertex,
		.before = of_request(c->before, x),
		.after = of_request(c->after, y),
		.calls_before = calls_of(f, c->before, x),
		.calls_after = calls_of(f, c->after, y),
		.each_before = span_vertex_mean(x),
		.each_after = span_vertex_mean(y),
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
