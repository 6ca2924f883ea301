#include "spans/ask/trace-answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

void trace_reader_free(struct trace_reader *s)
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

int trace_answer_make(struct trace_reader *s, const struct span *spans, uint32_t n, struct trace_answer *ret)
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
	if (r == 0)
		r = add_operations(s, spans, ret);
	if (r < 0)
		trace_answer_free(ret);
	return r;
}
