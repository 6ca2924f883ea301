/* whyslow spans path: the critical path of each bucket, or of single traces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/order.h"
#include "lib/stat/sketch.h"
#include "spans/ask/spans.h"
#include "spans/forest/forest.h"
#include "spans/forest/trace-path.h"
#include "spans/formats/span-clickhouse.h"
#include "spans/model/span-answer.h"

/* Reads one trace after another; zero-initialised but for the first three. */
struct trace_reader {
	struct forest *paths; /* lent: call paths of the traces are added; its names are the spans' */
	enum path_rule rule;
	struct tree tree;	/* with its asynchronous calls and names */
	uint32_t siblings_of;	/* private: whose children the next two are of */
	VEC(int64_t) on_path;	/* private: ends, ascending */
	int64_t first_start;	/* private */
};

static void trace_reader_free(struct trace_reader *s)
{
	tree_free(&s->tree);
	VEC_FREE(s->on_path);
}

/* The call path of a span as one number, so that CRISP's clamping of whole call paths can be done. */
static uint32_t call_path(struct trace_reader *s, const struct span *spans, uint32_t i, uint32_t *known)
{
	uint32_t parent = s->tree.parent[i];

	if (known[i] == NO_VERTEX)
		known[i] = forest_vertex(s->paths,
					 i == s->tree.root || parent == NO_SPAN ? NO_VERTEX : call_path(s, spans, parent, known), VERTEX_CALL,
					 0, spans[i].service, spans[i].operation);
	return known[i];
}

/* Each call path of the critical path once, where the trace has it first. */
static int add_operations(struct trace_reader *s, const struct span *spans, struct trace_answer *a)
{
	const struct tree *t = &s->tree;
	_cleanup_free_ uint32_t *known = malloc((t->n + 1) * sizeof(*known));
	_cleanup_free_ int64_t *sum = NULL;
	int r = 0;

	if (!known)
		return -ENOMEM;
	memset(known, 0xff, (t->n + 1) * sizeof(*known));
	for (uint32_t k = 0; k < t->reached; k++)
		call_path(s, spans, t->order[k], known);
	sum = calloc(s->paths->vertices.n + 1, sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->flags[i] & TREE_ON_PATH && known[i] != NO_VERTEX)
			sum[known[i]] += t->own[i];
	for (uint32_t i = 0; r == 0 && i < t->n; i++) {
		if (!(t->flags[i] & TREE_ON_PATH) || known[i] == NO_VERTEX)
			continue;
		r = VEC_PUSH(a->operations, (struct trace_answer_operation){&spans[i], sum[known[i]] > 0 ? sum[known[i]] : 0});
		sum[known[i]] = 0;
	}
	return r;
}

/* The children of one span are asked about one after another: keeps what they share. */
static int know_siblings(struct trace_reader *s, uint32_t parent)
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
static int64_t slack_of(struct trace_reader *s, uint32_t i)
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

static uint32_t depth_of(const struct tree *t, uint32_t i)
{
	uint32_t depth = 0;

	for (; i != t->root && t->parent[i] != NO_SPAN && depth < 60; i = t->parent[i])
		depth++;
	return depth;
}

static struct trace_answer_span span_of(struct trace_reader *s, const struct span *spans, uint32_t i)
{
	const struct tree *t = &s->tree;
	bool on_path = t->flags[i] & TREE_ON_PATH, asynchronous = t->flags[i] & TREE_ASYNCHRONOUS;

	return (struct trace_answer_span){
		.span = &spans[i],
		.start = t->start[i] - spans[t->root].start,
		.length = t->length[i],
		.own = on_path && t->own[i] > 0 ? t->own[i] : 0,
		.drag = on_path ? tree_drag(t, i, false) : 0,
		.drag_exclusive = on_path ? tree_drag(t, i, true) : 0,
		.slack = on_path || asynchronous ? 0 : slack_of(s, i),
		.depth = depth_of(t, i),
		.on_path = on_path,
		.asynchronous = asynchronous,
	};
}

/* CRISP begins where what called a span is not there, if there is one such span only: of a part of a trace it tells the path. */
static void begin_as_crisp_does(struct trace_reader *s, const struct span *spans, struct tree_tally *tally)
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

/* list: of n; row: of n, where a span stands in a->spans. */
static int add_spans(struct trace_reader *s, const struct span *spans, uint32_t *list, uint32_t *row, struct trace_answer *a)
{
	uint32_t length = tree_path(&s->tree, list);
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < s->tree.reached; k++) {
		row[s->tree.order[k]] = k;
		r = VEC_PUSH(a->spans, span_of(s, spans, s->tree.order[k]));
	}
	for (uint32_t k = 0; r == 0 && k < length; k++)
		r = VEC_PUSH(a->path, row[list[k]]);
	return r;
}

/* The path of a trace of n spans, which *ret lends. 0; 1 = the trace has no root, and *ret is not set; -ENOMEM. */
static int trace_answer_make(struct trace_reader *s, const struct span *spans, uint32_t n, struct trace_answer *ret)
{
	struct tree_tally tally = {};
	_cleanup_free_ uint32_t *list = calloc(n + 1, sizeof(*list)), *row = calloc(n + 1, sizeof(*row));
	int r = list && row ? trace_tree(spans, n, s->rule, &s->tree, &tally) : -ENOMEM;

	if (r < 0)
		return r;
	s->siblings_of = NO_SPAN;
	if (s->tree.root == NO_SPAN && s->rule == PATH_CRISP)
		begin_as_crisp_does(s, spans, &tally);
	if (s->tree.root == NO_SPAN)
		return 1;
	trace_path(&s->tree, s->rule);
	*ret = (struct trace_answer){.names = s->paths->names, .root = &spans[s->tree.root], .n_spans = n, .orphans = n - s->tree.reached};
	r = add_spans(s, spans, list, row, ret);
	r = r ?: add_operations(s, spans, ret);
	if (r < 0)
		trace_answer_free(ret);
	return r;
}

static double p95_of(const struct cell *c)
{
	return sketch_quantile(c->sketch, .95);
}

ORDER(by_path, struct span_step, DESCENDING(path) ?: ASCENDING(vertex))

static int find_steps(const struct forest_group *g, struct span_path *ret)
{
	ret->steps = calloc(g->cells.n + 1, sizeof(*ret->steps));
	if (!ret->steps)
		return -ENOMEM;
	ret->n = g->cells.n;
	for (size_t i = 0; i < g->cells.n; i++) {
		const struct cell *c = &g->cells.v[i];

		ret->steps[i] = (struct span_step){c->vertex, forest_group_each(g, c->path.sum), forest_group_each(g, c->drag), p95_of(c)};
	}
	qsort(ret->steps, ret->n, sizeof(*ret->steps), by_path);
	return 0;
}

/* The cell at which the longest path ends, each weighing its p95, and the path's length in sum[cell]; parents come before their children. */
static size_t longest_end(const struct forest *f, const struct forest_group *g, double *sum)
{
	size_t best = 0;

	for (size_t i = 0; i < g->cells.n; i++) {
		uint32_t parent = f->vertices.v[g->cells.v[i].vertex].parent;
		const struct cell *above = parent == NO_VERTEX ? NULL : forest_group_cell(g, parent);

		sum[i] = p95_of(&g->cells.v[i]) + (above ? sum[above - g->cells.v] : 0);
		if (sum[i] > sum[best])
			best = i;
	}
	return best;
}

/* SDiag literally: the longest path from the first event to a last one, a vertex weighing its p95. */
static int find_longest(const struct forest *f, const struct forest_group *g, struct span_path *ret)
{
	_cleanup_free_ double *sum = calloc(g->cells.n + 1, sizeof(*sum));
	size_t end, at;

	ret->steps = calloc(FOREST_DEPTH_MAX + 2, sizeof(*ret->steps));
	if (!sum || !ret->steps)
		return -ENOMEM;
	if (!g->cells.n)
		return 0;
	end = longest_end(f, g, sum);
	ret->length = sum[end];
	for (uint32_t v = g->cells.v[end].vertex; v != NO_VERTEX; v = f->vertices.v[v].parent)
		ret->n++;
	at = ret->n;
	for (uint32_t v = g->cells.v[end].vertex; v != NO_VERTEX; v = f->vertices.v[v].parent)
		ret->steps[--at] = (struct span_step){.vertex = v, .p95 = p95_of(forest_group_cell(g, v))};
	return 0;
}

/* The path of a group of a finished forest. 0 or -ENOMEM. */
static int span_path_find(const struct forest *f, const struct forest_group *g, bool sdiag, struct span_path *ret)
{
	struct span_path p = {.sdiag = sdiag};
	int r = sdiag ? find_longest(f, g, &p) : find_steps(g, &p);

	if (r < 0)
		free(p.steps);
	else
		*ret = p;
	return r;
}

static void span_path_free(struct span_path *p)
{
	free(p->steps);
}

/* --- of single traces ------------------------------------------------------------------------------------------------ */

struct single {
	struct pipeline *pipeline;
	struct trace_reader reader;
	json_t *traces; /* NULL = text */
	uint64_t high, low;
	bool any, found;
};

static int take_trace(void *state, const struct span *spans, uint32_t n)
{
	struct single *s = state;
	struct trace_answer a;
	int r;

	if (!s->any && (spans[0].trace_high != s->high || spans[0].trace_low != s->low))
		return 0;
	r = trace_answer_make(&s->reader, spans, n, &a);
	if (r < 0)
		return r;
	s->found = true;
	if (r > 0 && s->traces)
		return json_array_append_new(s->traces, span_orphans_json(s->pipeline->names, spans, n)) < 0 ? -ENOMEM : 0;
	if (r > 0) {
		log_warning("a trace without a root (%u orphans) has no critical path", n);
		return 0;
	}
	if (s->traces)
		json_array_append_new(s->traces, span_trace_json(&a));
	else
		span_trace_text(&a, stdout);
	trace_answer_free(&a);
	return 0;
}

static int read_traces(struct common *common, const struct spans_query *q, struct single *s,
		       const struct file_list *files, const struct pipeline_options *options)
{
	_cleanup_free_ char *error = NULL;
	int r = pipeline_open(s->pipeline, options, &error);

	s->reader.tree.asynchronous = &s->pipeline->asynchronous;
	s->reader.tree.names = s->pipeline->names;
	s->reader.paths = &s->pipeline->forest;
	if (r == 0 && q->input.trace)
		span_trace_id_of_text(s->pipeline->names, q->input.trace, strlen(q->input.trace), &s->high, &s->low);
	if (r == 0 && !common->json)
		span_path_head_text(path_rule_name(s->reader.rule), false, stdout);
	for (size_t i = 0; r == 0 && i < files->paths.n; i++)
		r = pipeline_read(s->pipeline, files->paths.v[i], &error);
	r = r ?: pipeline_end(s->pipeline);
	spans_print_faults(&s->pipeline->faults);
	if (r < 0 || !s->found)
		log_error("%s", error		 ? error
				: r < 0		 ? strerror(-r)
				: q->input.trace ? "that trace is not in the files"
						 : "there is no trace in the files");
	else if (common->json)
		spans_print_json(span_traces_json(path_rule_name(s->reader.rule), json_incref(s->traces)), 0);
	return r;
}

static int single_traces(struct common *common, const struct spans_query *q, size_t n, char **data)
{
	struct pipeline_options options;
	struct pipeline pipeline;
	_cleanup_(file_list_free) struct file_list files = {};
	struct single s = {.pipeline = &pipeline, .any = !q->input.trace, .traces = common->json ? json_array() : NULL};
	int r;

	if (!n)
		return verb_usage_error("spans path", "expected files: single traces are read from files");
	if (span_table_is(data[0]))
		return verb_usage_error("spans path", "single traces are read from files, not from tables");
	if (q->input.learn && spans_learn(q, n, data) < 0)
		return EXIT_CANNOT;
	r = spans_files(q, n, data, &files, &options);
	if (r == 0) {
		s.reader.rule = options.rule;
		options.asynchronous = q->input.learn ? q->input.learn : options.asynchronous;
		options.trace = take_trace;
		options.state = &s;
		r = read_traces(common, q, &s, &files, &options);
		trace_reader_free(&s.reader);
		pipeline_close(&pipeline);
	}
	json_decref(s.traces);
	return r == -EINVAL ? EXIT_USAGE : r < 0 || !s.found ? EXIT_CANNOT : EXIT_ANSWERED;
}

/* --- of buckets ------------------------------------------------------------------------------------------------------- */

/* Each chosen bucket, its versions together: printed, or appended to `buckets`. */
static void tell_buckets(const struct spans_query *q, const struct forest *f, bool sdiag, json_t *buckets)
{
	for (size_t i = 0; i < f->buckets.n; i++) {
		struct forest one = {};
		struct span_path path;

		if (bucket_is_chosen(&q->choice, f, &f->buckets.v[i]) && forest_merge_groups(f, &f->buckets.v[i], &one) == 0 &&
		    span_path_find(&one, &one.buckets.v[0].groups.v[0], sdiag, &path) == 0) {
			if (buckets)
				json_array_append_new(buckets, span_path_bucket_json(&one, &path));
			else
				span_path_text(&one, &path, q->top, stdout);
			span_path_free(&path);
		}
		forest_free(&one);
	}
}

int spans_path(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **files = argv + 1;
	bool sdiag = !strcmp(q->input.rule, "sdiag");
	struct names *names;
	struct forest f;
	json_t *buckets;
	int r;

	if (q->each_trace || q->input.trace)
		return single_traces(common, q, n, files);
	r = spans_forest_of(common, q, n, files, &names, &f);
	if (r < 0)
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	buckets = common->json ? json_array() : NULL;
	if (!buckets)
		span_path_head_text(sdiag ? "sdiag" : f.rule, !sdiag, stdout);
	tell_buckets(q, &f, sdiag, buckets);
	if (buckets)
		spans_print_json(span_path_json(&f, sdiag ? "sdiag" : f.rule, buckets), 0);
	else
		span_tally_text(&f, stdout);
	forest_free(&f);
	names_free(names);
	return EXIT_ANSWERED;
}
