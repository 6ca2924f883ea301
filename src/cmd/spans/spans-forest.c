/* whyslow spans load, forest: what was read, and the statistical call forest of each bucket. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/log.h"
#include "cmd/spans/spans.h"
#include "store/span/span-rows.h"
#include "view/why/json.h"

static char *key_of_files(size_t n, char **files)
{
	_cleanup_str_ struct str s = {};

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *full = realpath(files[i], NULL);

		str_printf(&s, "%s%s", s.len ? " " : "", full ? full : files[i]);
	}
	return s.error ? NULL : TAKE(s.data);
}

struct saving {
	struct span_rows *rows;
};

static int save_trace(void *state, const struct span *spans, uint32_t n)
{
	return span_rows_put(((struct saving *)state)->rows, spans, n);
}

/* The spans themselves, trace by trace. */
static int write_rows(size_t n, char **files, struct pipeline_options *o, uint64_t *ret_spans, struct span_faults *faults, char **ret_error)
{
	struct saving saving = {};
	struct pipeline p;
	int r, closed;

	o->trace = save_trace;
	o->state = &saving;
	r = pipeline_open(&p, o, ret_error);
	if (r == 0)
		r = span_rows_open(spans_arg.output, p.names, &saving.rows, ret_error);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = pipeline_read(&p, files[i], ret_error);
	if (r == 0)
		r = pipeline_end(&p);
	closed = saving.rows ? span_rows_close(saving.rows, ret_spans, *ret_error ? NULL : ret_error) : 0;
	span_faults_add(faults, &p.faults);
	pipeline_close(&p);
	return r < 0 ? r : closed;
}

static int load_into_table(struct common *common, size_t n, char **data)
{
	struct pipeline_options o;
	struct span_faults faults = {};
	struct file_list files;
	_cleanup_free_ char *error = NULL;
	uint64_t spans = 0;
	int r = spans_files(n, data, &files);

	if (r < 0)
		return EXIT_CANNOT;
	if (spans_pipeline_options(files.paths.n, &o) < 0) {
		file_list_free(&files);
		return EXIT_USAGE;
	}
	o.skips_unknown = files.paths.n > n;
	r = write_rows(files.paths.n, files.paths.v, &o, &spans, &faults, &error);
	file_list_free(&files);
	spans_print_faults(&faults);
	if (r < 0) {
		log_error("%s", error ? error : strerror(-r));
		return EXIT_CANNOT;
	}
	if (common->json)
		return spans_print_json(json_pack("{s:s, s:s, s:I}", "schema", "whyslow.spans.load/1", "table", spans_arg.output, "spans",
						  (json_int_t)spans), EXIT_ANSWERED);
	printf("%" PRIu64 " spans are in %s\n'whyslow spans work' of each shard prepares the answers; 'whyslow spans forest %s' reads it here\n",
	       spans, spans_arg.output, spans_arg.output);
	return EXIT_ANSWERED;
}

/* --deployments FILE into the store. */
static int load_deployments(struct common *common, struct span_store *store)
{
	struct deployments d = {};
	int r = spans_deployments(common, false, &d);

	for (size_t i = 0; r == 0 && i < d.list.n; i++)
		r = span_store_deploy(store, &d.list.v[i]);
	if (r == -EIO || r == -ENOSPC)
		log_error("%s", span_store_error(store));
	if (r == 0 && d.list.n && !common->json)
		printf("%zu deployments\n", d.list.n);
	deployments_free(&d);
	return r;
}

static int load_deployments_alone(struct common *common)
{
	struct span_store *store = spans_open_store(common, true);
	int r = store ? load_deployments(common, store) : -ENOENT;

	span_store_close(store);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

int spans_load(struct common *common, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **files = argv + 1;
	_cleanup_free_ char *key = spans_arg.key ? strdup(spans_arg.key) : key_of_files(n, files);
	struct names *names;
	struct forest f;
	struct span_store *store;
	int r;

	if (spans_arg.output)
		return load_into_table(common, n, files);
	if (!n && spans_arg.deployments)
		return load_deployments_alone(common);
	if (!n)
		return usage_error("spans load", "expected FILE ..., or - for standard input");
	r = spans_forest_of(common, n, files, &names, &f);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	store = spans_open_store(common, true);
	r = store && key ? spans_store_forest(store, key, n == 1 ? files[0] : "several files", &f) : -EIO;
	if (r < 0 && store)
		log_error("%s", span_store_error(store));
	if (r == 0 && spans_arg.deployments)
		r = load_deployments(common, store);
	if (r == 0 && common->json)
		spans_print_json(json_pack("{s:s, s:s, s:o, s:I, s:I}", "schema", "whyslow.spans.load/1", "key", key, "read",
					   spans_tally_json(&f), "buckets", (json_int_t)f.buckets.n, "call_paths",
					   (json_int_t)f.vertices.n), 0);
	else if (r == 0) {
		printf("%" PRIu64 " spans of %" PRIu64 " traces: %" PRIu64 " whole requests, %zu buckets, %zu call paths\n", f.tally.spans,
		       f.tally.traces, f.tally.requests, f.buckets.n, f.vertices.n);
		spans_print_tally(&f);
		puts("'whyslow spans why' says what became slower, 'whyslow spans forest' where the time goes");
	}
	span_store_close(store);
	forest_free(&f);
	names_free(names);
	return r < 0 ? EXIT_CANNOT : EXIT_ANSWERED;
}

/* All groups of a bucket as one, for what does not tell versions apart. */
int spans_merge_groups(const struct forest *f, const struct bucket *b, struct forest *ret)
{
	struct forest part = *f;
	struct bucket one = *b;
	struct group *groups = calloc(b->groups.n + 1, sizeof(*groups));
	int r = groups ? forest_init(ret, f->names, f->slot_width) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < b->groups.n; i++) {
		groups[i] = b->groups.v[i];
		groups[i].versions = 0;
	}
	one.groups.v = groups;
	part.buckets.v = &one;
	part.buckets.n = 1;
	part.places.n = 0;
	part.tally = (struct forest_tally){};
	if (r == 0)
		r = forest_merge(ret, &part);
	free(groups);
	return r == 0 ? forest_finish(ret) : r;
}

struct line {
	const struct forest *f;
	const struct group *g;
	const struct cell *cell, *parent;
};

static double per_request(const struct group *g, wide sum)
{
	return g->total.count ? (double)((long double)sum / (long double)g->total.count) : NAN;
}

static double calls_per_parent(const struct line *l)
{
	const struct moments *parent = l->parent ? &l->parent->duration : &l->g->total;

	return parent->count ? (double)l->cell->duration.count / (double)parent->count : NAN;
}

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
		{"self_ns_per_request", per_request(l->g, c->self.sum)},
		{"path_ns_per_request", per_request(l->g, c->path.sum)},
		{"drag_ns_per_request", per_request(l->g, c->drag)},
		{"slack_ns_per_request", per_request(l->g, c->slack)},
		{"parallel", c->busy ? (double)((long double)c->called / (long double)c->busy) : NAN},
		{"errors", (double)c->errors / (double)SPAN_WEIGHT_ONE},
		{"retries", (double)c->retries / (double)SPAN_WEIGHT_ONE},
		{"asynchronous", (double)c->asynchronous / (double)SPAN_WEIGHT_ONE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		json_object_set_new(o, figures[i].name, number_json(figures[i].value));
	return o;
}

static void print_line(const struct line *l)
{
	const struct cell *c = l->cell;
	const struct vertex *v = &l->f->vertices.v[c->vertex];
	_cleanup_free_ char *label = vertex_label(l->f, c->vertex);
	double total = moments_mean(&l->g->total), path = per_request(l->g, c->path.sum);
	char a[24], b[24], d[24], e[24];

	printf("  %5.1f %% %9s %7.3g %9s %9s %9s  %*s%s", 100 * path / total, spans_duration(path, a), calls_per_parent(l),
	       spans_duration(sketch_quantile(c->sketch, .5), b), spans_duration(sketch_quantile(c->sketch, .95), d),
	       spans_duration(sketch_quantile(c->sketch, .99), e), 2 * v->depth, "", label ? label : "?");
	if (c->errors)
		printf("  [%.2g %% fail]", 100.0 * (double)c->errors / (double)c->duration.count);
	if (c->retries)
		printf("  [%.2g %% are retries]", 100.0 * (double)c->retries / (double)c->duration.count);
	if (2 * c->asynchronous > c->duration.count)
		printf("  [asynchronous]");
	putchar('\n');
}

static const struct cell *parent_cell(const struct forest *f, const struct group *g, const struct cell *c)
{
	uint32_t parent = f->vertices.v[c->vertex].parent;

	return parent == NO_VERTEX ? NULL : group_cell(g, parent);
}

static void print_total(const struct forest *f, const struct bucket *b, const struct group *g)
{
	_cleanup_free_ char *label = spans_bucket_label(f, b);
	char mean[24], p50[24], p95[24], p99[24];

	printf("\n%s\n  %.0f requests", label ? label : "?", moments_count(&g->total));
	if (g->total.count != g->total.samples * SPAN_WEIGHT_ONE)
		printf(" (from %" PRIu64 " sampled)", g->total.samples);
	printf(", end to end: mean %s, p50 %s, p95 %s, p99 %s", spans_duration(moments_mean(&g->total), mean),
	       spans_duration(sketch_quantile(g->sketch, .5), p50), spans_duration(sketch_quantile(g->sketch, .95), p95),
	       spans_duration(sketch_quantile(g->sketch, .99), p99));
	if (g->errors)
		printf("; %.2g %% fail", 100.0 * (double)g->errors / (double)g->total.count);
	putchar('\n');
}

static json_t *bucket_json(const struct forest *f, const struct bucket *b, const struct group *g)
{
	json_t *paths = json_array(), *o = spans_bucket_json(f, b);

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

int spans_forest(struct common *common, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **files = argv + 1;
	struct names *names;
	struct forest f;
	json_t *buckets;
	int r;

	if (spans_arg.functions)
		return spans_functions(common, n, files);
	r = spans_forest_of(common, n, files, &names, &f);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	buckets = json_array();
	if (!common->json) {
		printf("%" PRIu64 " spans, %" PRIu64 " requests; critical path by the rule '%s'; quantiles within %.2g %%\n", f.tally.spans,
		       f.tally.requests, f.rule, 100 * SKETCH_ERROR);
		puts("  share of the critical path, ms of it a request, calls a parent call, p50, p95, p99 of a call");
	}
	for (size_t i = 0; i < f.buckets.n; i++) {
		struct forest one = {};
		const struct bucket *b;

		if (!spans_selected(&f, &f.buckets.v[i]) || spans_merge_groups(&f, &f.buckets.v[i], &one) < 0) {
			forest_free(&one);
			continue;
		}
		b = &one.buckets.v[0];
		if (common->json) {
			json_array_append_new(buckets, bucket_json(&one, b, &b->groups.v[0]));
		} else {
			print_total(&one, b, &b->groups.v[0]);
			for (size_t j = 0; j < b->groups.v[0].cells.n; j++) {
				const struct cell *c = &b->groups.v[0].cells.v[j];
				struct line l = {&one, &b->groups.v[0], c, parent_cell(&one, &b->groups.v[0], c)};

				print_line(&l);
			}
		}
		forest_free(&one);
	}
	if (common->json)
		spans_print_json(json_pack("{s:s, s:s, s:o, s:o}", "schema", "whyslow.spans.forest/1", "rule", f.rule, "read",
					   spans_tally_json(&f), "buckets", buckets), 0);
	else {
		json_decref(buckets);
		spans_print_tally(&f);
	}
	forest_free(&f);
	names_free(names);
	return EXIT_ANSWERED;
}
