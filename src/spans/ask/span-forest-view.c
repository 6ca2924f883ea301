/* The call forest of each bucket: every call path, how often, how long. */
#include <inttypes.h>
#include <math.h>

#include "lib/data/cleanup.h"
#include "lib/stat/sketch.h"
#include "lib/view/json.h"
#include "spans/ask/span-view.h"

struct line {
	const struct forest *f;
	const struct forest_group *g;
	const struct cell *cell, *parent;
};

static double calls_per_parent(const struct line *l)
{
	const struct moments *parent = l->parent ? &l->parent->duration : &l->g->total;

	return parent->count ? (double)l->cell->duration.count / (double)parent->count : NAN;
}

static const struct cell *parent_cell(const struct forest *f, const struct forest_group *g,
				      const struct cell *c)
{
	uint32_t parent = f->vertices.v[c->vertex].parent;

	return parent == NO_VERTEX ? NULL : forest_group_cell(g, parent);
}

static void print_line(const struct line *l, FILE *out)
{
	const struct cell *c = l->cell;
	const struct vertex *v = &l->f->vertices.v[c->vertex];
	_cleanup_free_ char *label = vertex_label(l->f, c->vertex);
	double total = moments_mean(&l->g->total), path = forest_group_each(l->g, c->path.sum);

	fprintf(out, "  %5.1f %% %9s %7.3g %9s %9s %9s  %*s%s", 100 * path / total, SPAN_DURATION(path), calls_per_parent(l),
	       SPAN_DURATION(sketch_quantile(c->sketch, .5)), SPAN_DURATION(sketch_quantile(c->sketch, .95)),
	       SPAN_DURATION(sketch_quantile(c->sketch, .99)), 2 * v->depth, "", label ? label : "?");
	if (c->errors)
		fprintf(out, "  [%.3g %% fail]", 100.0 * (double)c->errors / (double)c->duration.count);
	if (c->retries)
		fprintf(out, "  [%.2g %% are retries]", 100.0 * (double)c->retries / (double)c->duration.count);
	if (2 * c->asynchronous > c->duration.count)
		fprintf(out, "  [asynchronous]");
	fputc('\n', out);
}

static void print_total(const struct forest *f, const struct bucket *b, const struct forest_group *g, FILE *out)
{
	_cleanup_free_ char *label = span_bucket_label(f, b);

	fprintf(out, "\n%s\n  %.0f requests", label ? label : "?", moments_count(&g->total));
	if (g->total.count != g->total.samples * SPAN_WEIGHT_ONE)
		fprintf(out, " (from %" PRIu64 " sampled)", g->total.samples);
	fprintf(out, ", end to end: mean %s, p50 %s, p95 %s, p99 %s", SPAN_DURATION(moments_mean(&g->total)),
	       SPAN_DURATION(sketch_quantile(g->sketch, .5)), SPAN_DURATION(sketch_quantile(g->sketch, .95)),
	       SPAN_DURATION(sketch_quantile(g->sketch, .99)));
	if (g->errors)
		fprintf(out, "; %.3g %% fail", 100.0 * (double)g->errors / (double)g->total.count);
	fputc('\n', out);
}

void span_forest_bucket_text(const struct forest *f, FILE *out)
{
	const struct bucket *b = &f->buckets.v[0];
	const struct forest_group *g = &b->groups.v[0];

	print_total(f, b, g, out);
	for (size_t j = 0; j < g->cells.n; j++) {
		struct line l = {f, g, &g->cells.v[j], parent_cell(f, g, &g->cells.v[j])};

		print_line(&l, out);
	}
}

void span_forest_head_text(const struct forest *f, FILE *out)
{
	fprintf(out, "%" PRIu64 " spans, %" PRIu64 " requests; critical path by the rule '%s'; quantiles within %.2g %%\n", f->tally.spans,
		f->tally.requests, f->rule, 100 * SKETCH_ERROR);
	fputs("  share of the critical path, ms of it a request, calls a parent call, p50, p95, p99 of a call\n", out);
}

/* --- as JSON --- */

static json_t *cell_json(const struct line *l)
{
	const struct cell *c = l->cell;
	const struct vertex *v = &l->f->vertices.v[c->vertex];
	_cleanup_free_ char *path = vertex_path(l->f, c->vertex);
	double count = moments_count(&c->duration);
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:i, s:f, s:I}", "path", path ? path : "", "kind",
			      v->kind == VERTEX_EDGE ? "edge" : "call", "service", names_get(l->f->names, v->service), "operation",
			      names_get(l->f->names, v->operation), "depth", (int)v->depth, "calls", count, "samples",
			      (json_int_t)c->duration.samples);
	const struct {
		const char *name;
		double value;
	} figures[] = {
		{"calls_per_parent", calls_per_parent(l)},
		{"mean_ns", moments_mean(&c->duration)},
		{"sd_ns", sqrt(moments_variance(&c->duration))},
		{"p50_ns", sketch_quantile(c->sketch, .5)},
		{"p95_ns", sketch_quantile(c->sketch, .95)},
		{"p99_ns", sketch_quantile(c->sketch, .99)},
		{"self_ns_per_request", forest_group_each(l->g, c->self.sum)},
		{"path_ns_per_request", forest_group_each(l->g, c->path.sum)},
		{"drag_ns_per_request", forest_group_each(l->g, c->drag)},
		{"slack_ns_per_request", forest_group_each(l->g, c->slack)},
		{"parallel", c->busy ? (double)((long double)c->called / (long double)c->busy) : NAN},
		{"errors", (double)c->errors / (double)SPAN_WEIGHT_ONE},
		{"retries", (double)c->retries / (double)SPAN_WEIGHT_ONE},
		{"asynchronous", (double)c->asynchronous / (double)SPAN_WEIGHT_ONE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		json_object_set_new(o, figures[i].name, json_number(figures[i].value));
	return o;
}

json_t *span_forest_bucket_json(const struct forest *f)
{
	const struct bucket *b = &f->buckets.v[0];
	const struct forest_group *g = &b->groups.v[0];
	json_t *paths = json_array(), *o = span_bucket_json(f, b);

	for (size_t i = 0; i < g->cells.n; i++) {
		struct line l = {f, g, &g->cells.v[i], parent_cell(f, g, &g->cells.v[i])};

		json_array_append_new(paths, cell_json(&l));
	}
	json_object_set_new(o, "requests", json_real(moments_count(&g->total)));
	json_object_set_new(o, "samples", json_integer((json_int_t)g->total.samples));
	json_object_set_new(o, "mean_ns", json_real(moments_mean(&g->total)));
	json_object_set_new(o, "p50_ns", json_real(sketch_quantile(g->sketch, .5)));
	json_object_set_new(o, "p95_ns", json_real(sketch_quantile(g->sketch, .95)));
	json_object_set_new(o, "p99_ns", json_real(sketch_quantile(g->sketch, .99)));
	json_object_set_new(o, "paths", paths);
	return o;
}

json_t *span_forest_json(const struct forest *f, json_t *buckets)
{
	return json_pack("{s:s, s:s, s:o, s:o}", "schema", "whyslow.spans.forest/1", "rule", f->rule, "read", span_tally_json(f), "buckets",
			 buckets);
}
