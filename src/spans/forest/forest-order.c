/* The one order in which a whole forest is read and written: that of its texts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "spans/forest/forest.h"

static int by_text(const struct names *names, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(names_get(names, a), names_get(names, b));
}

/* Depth first: a vertex, then what it calls, in the order of texts; position[i] = the new index of vertex i. */
struct ordering {
	const struct forest *f;
	uint32_t *position;
};

static int by_vertex_text(const void *a, const void *b, void *context)
{
	const struct forest *f = context;
	const struct vertex *x = &f->vertices.v[*(const uint32_t *)a], *y = &f->vertices.v[*(const uint32_t *)b];
	int r = by_text(f->names, x->service, y->service);

	if (!r)
		r = by_text(f->names, x->operation, y->operation);
	if (!r)
		r = (int)x->kind - (int)y->kind;
	return r ? r : by_text(f->names, x->caller, y->caller);
}

static int order_vertices(const struct forest *f, uint32_t *position)
{
	size_t n = f->vertices.n, depth = 0;
	_cleanup_free_ uint32_t *first = calloc(n + 2, sizeof(*first)), *child = calloc(n + 1, sizeof(*child)),
				*stack = calloc(n + 1, sizeof(*stack)), *fill = calloc(n + 2, sizeof(*fill));
	uint32_t next = 0;

	if (!first || !child || !stack || !fill)
		return -ENOMEM;
	/* children of vertex p are listed under p + 1, entry points under 0 */
	for (size_t i = 0; i < n; i++)
		first[f->vertices.v[i].parent + 2]++;
	for (size_t i = 1; i < n + 2; i++)
		first[i] += first[i - 1];
	memcpy(fill, first, (n + 2) * sizeof(*fill));
	for (uint32_t i = 0; i < n; i++)
		child[fill[f->vertices.v[i].parent + 1]++] = i;
	for (size_t i = 0; i <= n; i++)
		if (first[i + 1] > first[i] + 1)
			qsort_r(child + first[i], first[i + 1] - first[i], sizeof(*child), by_vertex_text, (void *)f);
	for (uint32_t i = first[1]; i-- > first[0];)
		stack[depth++] = child[i];
	while (depth) {
		uint32_t v = stack[--depth];

		position[v] = next++;
		for (uint32_t i = first[v + 2]; i-- > first[v + 1];)
			stack[depth++] = child[i];
	}
	return 0;
}

ORDER(by_vertex, uint32_t, CMP(*a, *b)) /* the first member of cell, slot_cell */

ORDER(by_slot_start, struct slot, ASCENDING(start))

/* Where each set stands among all by its text; texts are made once, not for each comparison. */
struct set_order {
	uint32_t *rank; /* by set id */
	uint32_t n;
};

struct set_line {
	char *text;
	uint32_t set;
};

ORDER(by_line, struct set_line, strcmp(a->text, b->text))

static void mark_set(struct set_order *o, uint32_t set, uint32_t *ret_used)
{
	if (set < o->n && !o->rank[set]) {
		o->rank[set] = 1;
		(*ret_used)++;
	}
}

static int order_sets(const struct forest *f, struct set_order *o)
{
	struct set_line *lines;
	uint32_t used = 0, n = 0;
	int r = 0;

	o->n = names_set_count(f->names);
	o->rank = calloc(o->n + 1, sizeof(*o->rank));
	if (!o->rank)
		return -ENOMEM;
	for (size_t i = 0; i < f->buckets.n; i++) {
		VEC_EACH(g, f->buckets.v[i].groups) {
			mark_set(o, g->versions, &used);
			for (size_t k = 0; k < g->leaves.n; k++)
				mark_set(o, g->leaves.v[k].set, &used);
		}
	}
	lines = calloc(used + 1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	for (uint32_t set = 0; set < o->n; set++) {
		if (!o->rank[set])
			continue;
		lines[n] = (struct set_line){forest_set_text(f->names, set), set};
		if (!lines[n++].text)
			r = -ENOMEM;
	}
	if (r == 0)
		qsort(lines, n, sizeof(*lines), by_line);
	for (uint32_t i = 0; i < n; i++) {
		o->rank[lines[i].set] = i;
		free(lines[i].text);
	}
	free(lines);
	return r;
}

ORDER_IN(by_leaf, struct leaf, struct set_order, CMP(context->rank[a->set], context->rank[b->set]))

ORDER_IN(by_versions, struct forest_group, struct set_order, CMP(context->rank[a->versions], context->rank[b->versions]))

static int by_values(const void *a, const void *b, void *context)
{
	const struct bucket *x = a, *y = b;
	int r = 0;

	for (uint32_t i = 0; i < FOREST_DIMENSIONS && !r; i++)
		r = by_text(context, x->values[i], y->values[i]);
	return r ? r : by_text(context, x->entry, y->entry);
}

ORDER_IN(by_place, struct forest_place, struct names, ASCENDING(bucket) ?: ASCENDING(vertex) ?: by_text(context, a->host, b->host))

static void move_exemplars(struct exemplar *v, size_t n, const uint32_t *position)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < v[i].spans.n; j++)
			v[i].spans.v[j].vertex = position[v[i].spans.v[j].vertex];
}

ORDER(by_request_lot, struct sampled_request, CMP(span_trace_id_lot(a->high, a->low), span_trace_id_lot(b->high, b->low)) ?: ASCENDING(start))

/* Calls first. */
ORDER_IN(by_mark_text, struct request_mark, struct names, CMP(a->key != 0, b->key != 0) ?: by_text(context, a->call, b->call) ?: by_text(context, a->key, b->key))

static void order_requests(struct forest_group *g, struct names *names)
{
	VEC_SORT(g->requests, by_request_lot);
	for (size_t i = 0; i < g->requests.n; i++)
		if (g->requests.v[i].marks.n)
			qsort_r(g->requests.v[i].marks.v, g->requests.v[i].marks.n, sizeof(*g->requests.v[i].marks.v), by_mark_text, names);
}

static void drop_unused(struct slot *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->cells.n; i++)
		if (s->cells.v[i].calls)
			s->cells.v[kept++] = s->cells.v[i];
	s->cells.n = kept;
}

static void finish_group(struct forest_group *g, const uint32_t *position, struct set_order *order)
{
	for (size_t i = 0; i < g->cells.n; i++)
		g->cells.v[i].vertex = position[g->cells.v[i].vertex];
	VEC_SORT(g->cells, by_vertex);
	g->cell_at.n = 0;
	VEC_EACH(s, g->slots) {
		for (size_t j = 0; j < s->cells.n; j++)
			s->cells.v[j].vertex = position[s->cells.v[j].vertex];
		drop_unused(s);
		VEC_SORT(s->cells, by_vertex);
	}
	VEC_SORT(g->slots, by_slot_start);
	if (g->leaves.n)
		qsort_r(g->leaves.v, g->leaves.n, sizeof(*g->leaves.v), by_leaf, order);
	move_exemplars(g->sample.v, g->sample.n, position);
	move_exemplars(g->slowest.v, g->slowest.n, position);
}

static int rebuild_vertices(struct forest *f, const uint32_t *position)
{
	size_t n = f->vertices.n;
	struct vertex *moved = reallocarray(NULL, n + 1, sizeof(*moved));

	if (!moved)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct vertex v = f->vertices.v[i];

		if (v.parent != NO_VERTEX)
			v.parent = position[v.parent];
		moved[position[i]] = v;
	}
	free(f->vertices.v);
	f->vertices.v = moved;
	f->vertices.allocated = n + 1;
	return 0;
}

static int order_buckets(struct forest *f)
{
	size_t n = f->buckets.n;
	_cleanup_free_ uint32_t *place = calloc(n + 1, sizeof(*place));

	if (!place)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		f->buckets.v[i].was = i;
	if (n)
		qsort_r(f->buckets.v, n, sizeof(*f->buckets.v), by_values, f->names);
	for (uint32_t i = 0; i < n; i++)
		place[f->buckets.v[i].was] = i;
	for (size_t i = 0; i < f->places.n; i++)
		f->places.v[i].bucket = place[f->places.v[i].bucket];
	if (f->places.n)
		qsort_r(f->places.v, f->places.n, sizeof(*f->places.v), by_place, f->names);
	return 0;
}

int forest_finish(struct forest *f)
{
	_cleanup_free_ uint32_t *position = reallocarray(NULL, f->vertices.n + 1, sizeof(*position));
	struct set_order order = {};
	int r = position ? order_vertices(f, position) : -ENOMEM;

	r = r ?: rebuild_vertices(f, position);
	r = r ?: order_sets(f, &order);
	if (r < 0) {
		free(order.rank);
		return r;
	}
	VEC_EACH(b, f->buckets) {
		for (size_t j = 0; j < b->groups.n; j++) {
			finish_group(&b->groups.v[j], position, &order);
			order_requests(&b->groups.v[j], f->names);
		}
		if (b->groups.n)
			qsort_r(b->groups.v, b->groups.n, sizeof(*b->groups.v), by_versions, &order);
	}
	free(order.rank);
	for (size_t i = 0; i < f->places.n; i++)
		f->places.v[i].vertex = position[f->places.v[i].vertex];
	return order_buckets(f);
}
