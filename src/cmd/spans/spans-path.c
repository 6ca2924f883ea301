/* whyslow spans path: the critical path of each bucket, or of single traces. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/log.h"
#include "cmd/spans/spans.h"
#include "source/span/span-clickhouse.h"

/* --- of single traces ------------------------------------------------------------------------------------------------ */

struct single {
	struct pipeline *pipeline;
	enum path_rule rule;
	struct tree tree;
	json_t *traces; /* NULL = text */
	uint64_t high, low;
	bool any, found;
	uint32_t siblings_of;	/* whose children these are; NO_SPAN = no one's yet */
	VEC(int64_t) on_path;	/* ends, ascending */
	int64_t first_start;
};

static void label_of(const struct single *s, const struct span *span, char *buf, size_t n)
{
	snprintf(buf, n, "[%s] %s", names_get(s->pipeline->names, span->service), names_get(s->pipeline->names, span->operation));
}

/* The call path of a span as one number, so that CRISP's clamping of whole call paths can be done. */
static uint32_t call_path(struct single *s, const struct span *spans, uint32_t i, uint32_t *known)
{
	uint32_t parent = s->tree.parent[i];

	if (known[i] == NO_VERTEX)
		known[i] = forest_vertex(&s->pipeline->forest,
					 i == s->tree.root || parent == NO_SPAN ? NO_VERTEX : call_path(s, spans, parent, known), VERTEX_CALL,
					 0, spans[i].service, spans[i].operation);
	return known[i];
}

static json_t *operations_json(struct single *s, const struct span *spans)
{
	size_t n = s->tree.n, vertices;
	_cleanup_free_ uint32_t *known = malloc((n + 1) * sizeof(*known));
	_cleanup_free_ int64_t *sum = NULL;
	json_t *o = json_object();

	if (!known)
		return o;
	memset(known, 0xff, (n + 1) * sizeof(*known));
	for (uint32_t k = 0; k < s->tree.reached; k++)
		call_path(s, spans, s->tree.order[k], known);
	vertices = s->pipeline->forest.vertices.n;
	sum = calloc(vertices + 1, sizeof(*sum));
	for (uint32_t i = 0; sum && i < n; i++)
		if (s->tree.flags[i] & TREE_ON_PATH)
			sum[known[i]] += s->tree.own[i];
	for (uint32_t i = 0; sum && i < n; i++) {
		char label[2 * NAME_TEXT_MAX];
		json_int_t before;

		if (!(s->tree.flags[i] & TREE_ON_PATH) || known[i] == NO_VERTEX)
			continue;
		label_of(s, &spans[i], label, sizeof(label));
		before = json_integer_value(json_object_get(o, label));
		json_object_set_new(o, label, json_integer(before + (sum[known[i]] > 0 ? sum[known[i]] : 0)));
		sum[known[i]] = 0;
	}
	return o;
}

/* What the children of one span share: they are asked about one after another. */
static int know_siblings(struct single *s, uint32_t parent)
{
	const struct tree *t = &s->tree;
	const uint32_t *child = t->child + t->first[parent];

	if (s->siblings_of == parent)
		return 0;
	s->siblings_of = parent;
	s->on_path.n = 0;
	s->first_start = INT64_MAX;
	for (uint32_t k = 0; k < t->count[parent]; k++) {
		s->first_start = t->start[child[k]] < s->first_start ? t->start[child[k]] : s->first_start;
		if (t->flags[child[k]] & TREE_ON_PATH && VEC_PUSH(s->on_path, t->end[child[k]]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* How long a span off the path could have started later without delaying its parent (calligator): its latest start,
 * so that it ends where the sibling on the path ends, less its earliest, the end of what came before it. */
static int64_t slack_of(struct single *s, uint32_t i)
{
	const struct tree *t = &s->tree;
	uint32_t p = t->parent[i];
	const uint32_t *child = t->child + t->first[p];
	size_t after, before;

	if (know_siblings(s, p) < 0)
		return 0;
	after = FIRST_WHERE(k, s->on_path.n, s->on_path.v[k] > t->end[i]);
	before = FIRST_WHERE(k, t->count[p], t->end[child[k]] >= t->start[i]);
	return (after < s->on_path.n ? s->on_path.v[after] : t->end[p]) - t->length[i] -
	       (before ? t->end[child[before - 1]] : s->first_start);
}

static json_t *span_json(struct single *s, const struct span *spans, uint32_t i)
{
	const struct tree *t = &s->tree;
	bool on_path = t->flags[i] & TREE_ON_PATH, asynchronous = t->flags[i] & TREE_ASYNCHRONOUS;
	char id[24];
	json_t *o;

	snprintf(id, sizeof(id), "%016" PRIx64, spans[i].id);
	o = json_pack("{s:s, s:s, s:s, s:I, s:I, s:b, s:b}", "span", id, "service", names_get(s->pipeline->names, spans[i].service),
		      "operation", names_get(s->pipeline->names, spans[i].operation), "start_ns",
		      (json_int_t)(t->start[i] - spans[t->root].start), "duration_ns", (json_int_t)t->length[i], "on_path", on_path,
		      "asynchronous", asynchronous);
	if (on_path) {
		json_object_set_new(o, "exclusive_ns", json_integer(t->own[i] > 0 ? t->own[i] : 0));
		json_object_set_new(o, "drag_ns", json_integer(path_drag(t, i, false)));
		json_object_set_new(o, "drag_exclusive_ns", json_integer(path_drag(t, i, true)));
	}
	json_object_set_new(o, "slack_ns", json_integer(on_path || asynchronous ? 0 : slack_of(s, i)));
	return o;
}

static json_t *trace_json(struct single *s, const struct span *spans, const uint32_t *list, uint32_t n)
{
	const struct span *root = &spans[s->tree.root];
	json_t *path = json_array(), *all = json_array();
	char id[33], buf[24];

	for (uint32_t k = 0; k < n; k++) {
		snprintf(buf, sizeof(buf), "%016" PRIx64, spans[list[k]].id);
		json_array_append_new(path, json_string(buf));
	}
	for (uint32_t k = 0; k < s->tree.reached; k++)
		json_array_append_new(all, span_json(s, spans, s->tree.order[k]));
	return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "trace",
			 trace_id_text(s->pipeline->names, root->trace_high, root->trace_low, id), "duration_ns",
			 (json_int_t)span_duration(root), "orphans", (json_int_t)(s->tree.n - s->tree.reached), "path", path,
			 "operations_ns", operations_json(s, spans), "spans", all);
}

static uint32_t depth_of(const struct tree *t, uint32_t i)
{
	uint32_t depth = 0;

	for (; i != t->root && t->parent[i] != NO_SPAN && depth < 60; i = t->parent[i])
		depth++;
	return depth;
}

static void print_trace(struct single *s, const struct span *spans, const uint32_t *list, uint32_t n)
{
	const struct tree *t = &s->tree;
	const struct span *root = &spans[t->root];
	char id[33], a[24], b[24], d[24];

	printf("\ntrace %s: %s, %u spans\n", trace_id_text(s->pipeline->names, root->trace_high, root->trace_low, id),
	       spans_duration((double)span_duration(root), a), t->n);
	puts("      own     of     drag   (on the critical path; the last to return comes first)");
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = list[k];
		char label[2 * NAME_TEXT_MAX];

		label_of(s, &spans[i], label, sizeof(label));
		printf("%9s %9s %9s  %*s%s\n", spans_duration((double)(t->own[i] > 0 ? t->own[i] : 0), a),
		       spans_duration((double)t->length[i], b), spans_duration((double)path_drag(t, i, false), d), (int)(2 * depth_of(t, i)), "",
		       label);
	}
}

/* A trace without a root has no path; its spans are reported. */
static json_t *orphans_json(struct single *s, const struct span *spans, uint32_t n)
{
	json_t *all = json_array();
	char id[33], parent[24], buf[24];

	for (uint32_t i = 0; i < n; i++) {
		_cleanup_free_ char *attributes = set_text(s->pipeline->names, spans[i].attributes);

		snprintf(buf, sizeof(buf), "%016" PRIx64, spans[i].id);
		snprintf(parent, sizeof(parent), "%016" PRIx64, spans[i].parent);
		json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:s}", "span", buf, "parent", parent, "service",
						     names_get(s->pipeline->names, spans[i].service), "operation",
						     names_get(s->pipeline->names, spans[i].operation), "kind",
						     span_kind_name((enum span_kind)spans[i].kind), "start_ns",
						     (json_int_t)spans[i].start, "duration_ns", (json_int_t)span_duration(&spans[i]),
						     "attributes", attributes ? attributes : ""));
	}
	return json_pack("{s:s, s:n, s:I, s:[], s:{}, s:o}", "trace", trace_id_text(s->pipeline->names, spans[0].trace_high,
			 spans[0].trace_low, id), "duration_ns", "orphans", (json_int_t)n, "path", "operations_ns", "spans", all);
}

/* CRISP begins where what called a span is not there, if there is one such span only: of a part of a trace it tells the path. */
static void begin_as_crisp_does(struct single *s, const struct span *spans, struct tree_tally *tally)
{
	uint32_t first = NO_SPAN, n = 0;

	for (uint32_t i = 0; i < s->tree.n; i++) {
		if (s->tree.parent[i] != NO_SPAN)
			continue;
		first = i;
		n++;
	}
	if (n != 1)
		return;
	s->tree.root = first;
	tree_arrange(&s->tree, s->rule, spans, tally);
}

static int take_trace(void *state, const struct span *spans, uint32_t n)
{
	struct single *s = state;
	struct tree_tally tally = {};
	_cleanup_free_ uint32_t *list = NULL;
	uint32_t length;
	int r;

	if (!s->any && (spans[0].trace_high != s->high || spans[0].trace_low != s->low))
		return 0;
	r = trace_tree(spans, n, s->rule, &s->tree, &tally);
	if (r < 0)
		return r;
	s->found = true;
	s->siblings_of = NO_SPAN;
	if (s->tree.root == NO_SPAN && s->rule == PATH_CRISP)
		begin_as_crisp_does(s, spans, &tally);
	if (s->tree.root == NO_SPAN && s->traces)
		return json_array_append_new(s->traces, orphans_json(s, spans, n)) < 0 ? -ENOMEM : 0;
	if (s->tree.root == NO_SPAN) {
		log_warning("a trace without a root (%u orphans) has no critical path", n);
		return 0;
	}
	list = malloc(n * sizeof(*list));
	if (!list)
		return -ENOMEM;
	trace_path(&s->tree, s->rule);
	length = path_list(&s->tree, list);
	if (s->traces)
		json_array_append_new(s->traces, trace_json(s, spans, list, length));
	else
		print_trace(s, spans, list, length);
	return 0;
}

static int read_traces(struct common *common, struct single *s, const struct file_list *files, const struct pipeline_options *options)
{
	_cleanup_free_ char *error = NULL;
	int r = pipeline_open(s->pipeline, options, &error);

	s->tree.asynchronous = &s->pipeline->asynchronous;
	s->tree.names = s->pipeline->names;
	if (r == 0 && spans_arg.trace)
		trace_id_of_text(s->pipeline->names, spans_arg.trace, strlen(spans_arg.trace), &s->high, &s->low);
	if (r == 0 && !common->json)
		printf("critical path by the rule '%s'\n", path_rule_name(s->rule));
	for (size_t i = 0; r == 0 && i < files->paths.n; i++)
		r = pipeline_read(s->pipeline, files->paths.v[i], &error);
	if (r == 0)
		r = pipeline_end(s->pipeline);
	spans_print_faults(&s->pipeline->faults);
	if (r < 0 || !s->found)
		log_error("%s", error ? error : r < 0 ? strerror(-r) : spans_arg.trace ? "that trace is not in the files" : "there is no trace in the files");
	else if (common->json)
		spans_print_json(json_pack("{s:s, s:s, s:O}", "schema", "whyslow.spans.trace/1", "rule", path_rule_name(s->rule), "traces",
					   s->traces), 0);
	return r;
}

static int single_traces(struct common *common, size_t n, char **data)
{
	struct pipeline_options options;
	struct pipeline pipeline;
	struct file_list files;
	struct single s = {.pipeline = &pipeline, .any = !spans_arg.trace, .traces = common->json ? json_array() : NULL};
	int r;

	if (!n)
		return usage_error("spans path", "expected files: single traces are read from files");
	if (span_table_is(data[0]))
		return usage_error("spans path", "single traces are read from files, not from tables");
	if (spans_arg.learn && spans_learn(n, data) < 0)
		return EXIT_CANNOT;
	r = spans_files(n, data, &files);
	if (r < 0)
		return EXIT_CANNOT;
	r = spans_pipeline_options(files.paths.n, &options);
	if (r == 0) {
		s.rule = options.rule;
		options.trace = take_trace;
		options.state = &s;
		options.skips_unknown = files.paths.n > n;
		r = read_traces(common, &s, &files, &options);
		tree_free(&s.tree);
		VEC_FREE(s.on_path);
		pipeline_close(&pipeline);
	}
	file_list_free(&files);
	json_decref(s.traces);
	return r == -EINVAL ? EXIT_USAGE : r < 0 || !s.found ? EXIT_CANNOT : EXIT_ANSWERED;
}

/* --- of a bucket ------------------------------------------------------------------------------------------------------ */

struct step {
	uint32_t vertex;
	double path, drag; /* ns a request */
};

static int by_path(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->path > y->path ? -1 : x->path < y->path ? 1 : x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

static double of_request(const struct group *g, wide sum)
{
	return g->total.count ? (double)((long double)sum / (long double)g->total.count) : NAN;
}

static struct step *steps_of(const struct group *g)
{
	struct step *v = calloc(g->cells.n + 1, sizeof(*v));

	for (size_t i = 0; v && i < g->cells.n; i++)
		v[i] = (struct step){g->cells.v[i].vertex, of_request(g, g->cells.v[i].path.sum), of_request(g, g->cells.v[i].drag)};
	if (v)
		qsort(v, g->cells.n, sizeof(*v), by_path);
	return v;
}

/* SDiag literally: the longest path from the first event to a last one, a vertex weighing its p95. Writes the path's
 * vertices, the first one first; returns their number. */
static size_t longest_path(const struct forest *f, const struct group *g, uint32_t *path, double *ret_length)
{
	size_t n = g->cells.n, best = 0, length = 0;
	_cleanup_free_ double *sum = calloc(n + 1, sizeof(*sum));

	if (!sum || !n)
		return 0;
	/* parents come before their children */
	for (size_t i = 0; i < n; i++) {
		uint32_t parent = f->vertices.v[g->cells.v[i].vertex].parent;
		const struct cell *above = parent == NO_VERTEX ? NULL : group_cell(g, parent);

		sum[i] = sketch_quantile(g->cells.v[i].sketch, .95) + (above ? sum[above - g->cells.v] : 0);
		if (sum[i] > sum[best])
			best = i;
	}
	*ret_length = sum[best];
	for (uint32_t v = g->cells.v[best].vertex; v != NO_VERTEX; v = f->vertices.v[v].parent)
		length++;
	for (uint32_t v = g->cells.v[best].vertex, i = (uint32_t)length; v != NO_VERTEX; v = f->vertices.v[v].parent)
		path[--i] = v;
	return length;
}

static void print_longest(const struct forest *f, const struct group *g)
{
	uint32_t path[FOREST_DEPTH_MAX + 2];
	double length = 0;
	size_t n = longest_path(f, g, path, &length);
	char a[24], b[24];

	printf("  longest path over the forest of p95 (a sum of p95 is not a latency): %s\n", spans_duration(length, a));
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *label = vertex_label(f, path[i]);

		printf("  %9s  %*s%s\n", spans_duration(sketch_quantile(group_cell(g, path[i])->sketch, .95), b), (int)(2 * i), "",
		       label ? label : "?");
	}
}

static void print_steps(const struct forest *f, const struct group *g)
{
	_cleanup_free_ struct step *v = steps_of(g);
	double total = moments_mean(&g->total), shown = 0;
	char a[24], b[24], d[24];

	if (!v)
		return;
	printf("    share       own  drag of   p95 of a call\n");
	for (size_t i = 0; i < g->cells.n && i < spans_arg.top; i++) {
		_cleanup_free_ char *label = vertex_path(f, v[i].vertex);

		if (v[i].path <= 0)
			break;
		printf("  %5.1f %% %9s %9s %9s  %s\n", 100 * v[i].path / total, spans_duration(v[i].path, a), spans_duration(v[i].drag, b),
		       spans_duration(sketch_quantile(group_cell(g, v[i].vertex)->sketch, .95), d), label ? label : "?");
		shown += v[i].path;
	}
	if (total - shown > .005 * total)
		printf("  %5.1f %% %9s                      the rest\n", 100 * (total - shown) / total, spans_duration(total - shown, a));
}

static json_t *steps_json(const struct forest *f, const struct bucket *bucket, const struct group *g, bool sdiag)
{
	_cleanup_free_ struct step *v = sdiag ? NULL : steps_of(g);
	json_t *list = json_array(), *o = spans_bucket_json(f, bucket);
	uint32_t path[FOREST_DEPTH_MAX + 2];
	double length = 0;
	size_t n = sdiag ? longest_path(f, g, path, &length) : v ? g->cells.n : 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t vertex = sdiag ? path[i] : v[i].vertex;
		_cleanup_free_ char *text = vertex_path(f, vertex);
		json_t *step = json_pack("{s:s, s:f}", "path", text ? text : "", "p95_ns", sketch_quantile(group_cell(g, vertex)->sketch, .95));

		if (!sdiag) {
			json_object_set_new(step, "exclusive_ns_per_request", json_real(v[i].path));
			json_object_set_new(step, "drag_ns_per_request", json_real(v[i].drag));
		}
		json_array_append_new(list, step);
	}
	json_object_set_new(o, "mean_ns", json_real(moments_mean(&g->total)));
	if (sdiag)
		json_object_set_new(o, "length_ns", json_real(length));
	json_object_set_new(o, "path", list);
	return o;
}

static void print_bucket(const struct forest *f, const struct bucket *b, const struct group *g, bool sdiag)
{
	_cleanup_free_ char *label = spans_bucket_label(f, b);
	char mean[24];

	printf("\n%s\n  %.0f requests, mean %s end to end\n", label ? label : "?", moments_count(&g->total),
	       spans_duration(moments_mean(&g->total), mean));
	if (sdiag)
		print_longest(f, g);
	else
		print_steps(f, g);
}

int spans_path(struct common *common, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **files = argv + 1;
	bool sdiag = !strcmp(spans_arg.rule, "sdiag");
	struct names *names;
	struct forest f;
	json_t *buckets;
	int r;

	if (spans_arg.each_trace || spans_arg.trace)
		return single_traces(common, n, files);
	r = spans_forest_of(common, n, files, &names, &f);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	buckets = json_array();
	if (!common->json)
		printf("critical path by the rule '%s'%s\n", sdiag ? "sdiag" : f.rule,
		       sdiag ? "" : "; own times are means a request and add up to the whole");
	for (size_t i = 0; i < f.buckets.n; i++) {
		struct forest one = {};

		if (spans_selected(&f, &f.buckets.v[i]) && spans_merge_groups(&f, &f.buckets.v[i], &one) == 0) {
			if (common->json)
				json_array_append_new(buckets, steps_json(&one, &one.buckets.v[0], &one.buckets.v[0].groups.v[0], sdiag));
			else
				print_bucket(&one, &one.buckets.v[0], &one.buckets.v[0].groups.v[0], sdiag);
		}
		forest_free(&one);
	}
	if (common->json)
		spans_print_json(json_pack("{s:s, s:s, s:O, s:o}", "schema", "whyslow.spans.path/1", "rule", sdiag ? "sdiag" : f.rule,
					   "buckets", buckets, "read", spans_tally_json(&f)), 0);
	else
		spans_print_tally(&f);
	json_decref(buckets);
	forest_free(&f);
	names_free(names);
	return EXIT_ANSWERED;
}
