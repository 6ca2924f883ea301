/* Parts of a forest put together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "spans/forest/forest.h"

struct translation {
	struct forest *to;
	const struct forest *from;
	uint32_t *vertex; /* of `from` -> of `to`, + 1; 0 = not translated yet: see vertex_of() */
};

static uint32_t text_of(const struct translation *t, uint32_t id)
{
	const char *text = names_get(t->from->names, id);

	return t->from->names == t->to->names ? id : names_text(t->to->names, text, strlen(text));
}

static uint32_t set_of(const struct translation *t, uint32_t id)
{
	const struct attribute_set *set = names_get_set(t->from->names, id);
	_cleanup_free_ struct attribute *v = NULL;

	if (t->from->names == t->to->names || !id)
		return id;
	v = calloc(set->n + 1, sizeof(*v));
	if (!v)
		return 0;
	for (uint32_t i = 0; i < set->n; i++)
		v[i] = (struct attribute){text_of(t, set->v[i].key), text_of(t, set->v[i].value)};
	return names_set(t->to->names, text_of(t, set->service), v, set->n);
}

/* Translated with its ancestors when first asked for: a bucket alone needs few of a forest's vertices. NO_VERTEX without memory.
 * Calls itself at most FOREST_DEPTH_MAX times. */
static uint32_t vertex_of(struct translation *t, uint32_t id)
{
	const struct vertex *v = &t->from->vertices.v[id];
	uint32_t parent = NO_VERTEX;

	if (t->vertex[id])
		return t->vertex[id] - 1;
	if (v->parent != NO_VERTEX) {
		parent = vertex_of(t, v->parent);
		if (parent == NO_VERTEX)
			return NO_VERTEX;
	}
	t->vertex[id] = forest_vertex(t->to, parent, (enum vertex_kind)v->kind, text_of(t, v->caller), text_of(t, v->service),
				      text_of(t, v->operation)) + 1;
	return t->vertex[id] - 1;
}

static int merge_vertices(struct translation *t)
{
	for (uint32_t i = 0; i < t->from->vertices.n; i++)
		if (vertex_of(t, i) == NO_VERTEX)
			return -ENOMEM;
	return 0;
}

static int merge_cell(struct translation *t, struct forest_group *g, const struct cell *from)
{
	uint32_t vertex = vertex_of(t, from->vertex);
	struct cell *to = vertex == NO_VERTEX ? NULL : forest_cell(g, vertex);

	if (!to)
		return -ENOMEM;
	moments_merge(&to->duration, &from->duration);
	moments_merge(&to->path, &from->path);
	moments_merge(&to->self, &from->self);
	to->called += from->called;
	to->busy += from->busy;
	to->wall += from->wall;
	to->drag += from->drag;
	to->slack += from->slack;
	to->parents += from->parents;
	to->errors += from->errors;
	to->retries += from->retries;
	to->asynchronous += from->asynchronous;
	return sketch_merge(to->sketch, from->sketch);
}

static int merge_slot_cell(struct translation *t, struct slot *to, const struct slot_cell *from, size_t hint)
{
	uint32_t vertex = vertex_of(t, from->vertex);

	return vertex == NO_VERTEX ? -ENOMEM : forest_slot_add(to, from, vertex, hint);
}

static int merge_slots(struct translation *t, struct forest_group *g, const struct forest_group *from)
{
	int r = from->slot_width > g->slot_width ? forest_coarsen(g, from->slot_width) : 0;

	for (size_t i = 0; r == 0 && i < from->slots.n; i++) {
		const struct slot *s = &from->slots.v[i];
		int64_t at = forest_slot(g, s->start);

		if (at < 0)
			return (int)at;
		moments_merge(&g->slots.v[at].total, &s->total);
		for (size_t j = 0; r == 0 && j < s->cells.n; j++)
			r = merge_slot_cell(t, &g->slots.v[at], &s->cells.v[j], j);
	}
	return r;
}

static int merge_exemplar(struct translation *t, struct forest_group *g, const struct exemplar *from,
			  int (*keep)(struct forest_group *, struct exemplar *))
{
	struct exemplar e = *from;

	if (t->from->names != t->to->names) {
		const char *id = SPAN_TRACE_ID(t->from->names, from->high, from->low);

		span_trace_id_of_text(t->to->names, id, strlen(id), &e.high, &e.low);
	}
	e.spans.v = reallocarray(NULL, from->spans.n + 1, sizeof(*e.spans.v));
	if (!e.spans.v)
		return -ENOMEM;
	e.spans.allocated = from->spans.n + 1;
	for (size_t i = 0; i < from->spans.n; i++) {
		e.spans.v[i] = from->spans.v[i];
		e.spans.v[i].vertex = vertex_of(t, from->spans.v[i].vertex);
		if (e.spans.v[i].vertex == NO_VERTEX) {
			VEC_FREE(e.spans);
			return -ENOMEM;
		}
		e.spans.v[i].host = text_of(t, from->spans.v[i].host);
		e.spans.v[i].process = text_of(t, from->spans.v[i].process);
		e.spans.v[i].link = text_of(t, from->spans.v[i].link);
	}
	return keep(g, &e);
}

static int merge_request(struct translation *t, struct forest_group *g, const struct sampled_request *from)
{
	struct sampled_request r = *from;

	if (!forest_takes_request(t->to->thinned, r.high, r.low))
		return 0;
	if (t->from->names != t->to->names) {
		const char *id = SPAN_TRACE_ID(t->from->names, from->high, from->low);

		span_trace_id_of_text(t->to->names, id, strlen(id), &r.high, &r.low);
	}
	r.set = set_of(t, from->set);
	r.marks.v = reallocarray(NULL, from->marks.n + 1, sizeof(*r.marks.v));
	if (!r.marks.v)
		return -ENOMEM;
	r.marks.allocated = from->marks.n + 1;
	for (size_t i = 0; i < from->marks.n; i++) {
		const struct request_mark *m = &from->marks.v[i];

		r.marks.v[i] = (struct request_mark){text_of(t, m->call), text_of(t, m->key), text_of(t, m->value), m->path};
	}
	return forest_keep_request(t->to, g, &r);
}

static int merge_group(struct translation *t, struct forest_group *g, const struct forest_group *from)
{
	int r = merge_slots(t, g, from);

	if (from->first_seen < g->first_seen)
		g->first_seen = from->first_seen;
	if (from->last_seen > g->last_seen)
		g->last_seen = from->last_seen;
	moments_merge(&g->total, &from->total);
	g->errors += from->errors;
	r = r ?: sketch_merge(g->sketch, from->sketch);
	for (size_t i = 0; r == 0 && i < from->cells.n; i++)
		r = merge_cell(t, g, &from->cells.v[i]);
	for (size_t i = 0; r == 0 && i < from->leaves.n; i++) {
		struct leaf *leaf = forest_leaf(t->to, g, set_of(t, from->leaves.v[i].set));

		if (!leaf)
			return -ENOMEM;
		moments_merge(&leaf->total, &from->leaves.v[i].total);
	}
	for (size_t i = 0; r == 0 && i < from->sample.n; i++)
		r = merge_exemplar(t, g, &from->sample.v[i], forest_keep_sample);
	for (size_t i = 0; r == 0 && i < from->slowest.n; i++)
		r = merge_exemplar(t, g, &from->slowest.v[i], forest_keep_slowest);
	for (size_t i = 0; r == 0 && i < from->requests.n; i++)
		r = merge_request(t, g, &from->requests.v[i]);
	return r;
}

static int merge_bucket(struct translation *t, const struct bucket *from)
{
	uint32_t values[FOREST_DIMENSIONS] = {};
	struct bucket *b;
	int r = 0;

	for (uint32_t i = 0; i < t->from->n_dimensions; i++)
		values[i] = text_of(t, from->values[i]);
	b = forest_bucket(t->to, values, text_of(t, from->entry));
	for (size_t i = 0; b && r == 0 && i < from->groups.n; i++) {
		struct forest_group *g = forest_group(t->to, b, set_of(t, from->groups.v[i].versions));

		r = g ? merge_group(t, g, &from->groups.v[i]) : -ENOMEM;
	}
	return b ? r : -ENOMEM;
}

static int merge_places(struct translation *t)
{
	VEC_EACH(from, t->from->places) {
		const struct bucket *old = &t->from->buckets.v[from->bucket];
		uint32_t values[FOREST_DIMENSIONS] = {}, vertex = vertex_of(t, from->vertex);
		struct bucket *b;
		struct forest_place *to;

		for (uint32_t d = 0; d < t->from->n_dimensions; d++)
			values[d] = text_of(t, old->values[d]);
		b = forest_bucket(t->to, values, text_of(t, old->entry));
		if (!b || vertex == NO_VERTEX)
			return -ENOMEM;
		to = forest_place(t->to, (uint32_t)(b - t->to->buckets.v), vertex, text_of(t, from->host));
		if (to)
			moments_merge(&to->path, &from->path);
	}
	return 0;
}

static void merge_tally(struct forest_tally *to, const struct forest_tally *from)
{
	const uint64_t *part = (const uint64_t *)from;
	uint64_t *whole = (uint64_t *)to;

	_Static_assert(sizeof(*to) % sizeof(uint64_t) == 0, "all counts");
	for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
		whole[i] += part[i];
}

static int same_question(struct translation *t)
{
	struct forest *f = t->to;

	if (!f->rule) {
		f->rule = strdup(t->from->rule ? t->from->rule : "");
		f->n_dimensions = t->from->n_dimensions;
		for (uint32_t i = 0; i < f->n_dimensions; i++)
			f->dimensions[i] = text_of(t, t->from->dimensions[i]);
		return f->rule ? 0 : -ENOMEM;
	}
	if (strcmp(f->rule, t->from->rule ? t->from->rule : "") || f->n_dimensions != t->from->n_dimensions)
		return -EEXIST;
	for (uint32_t i = 0; i < f->n_dimensions; i++)
		if (f->dimensions[i] != text_of(t, t->from->dimensions[i]))
			return -EEXIST;
	return 0;
}

/* `whole`: also the vertices that no bucket refers to. */
static int merge(struct forest *f, const struct forest *part, bool whole)
{
	_cleanup_free_ uint32_t *vertex = calloc(part->vertices.n + 1, sizeof(*vertex));
	struct translation t = {.to = f, .from = part, .vertex = vertex};
	int r = vertex ? same_question(&t) : -ENOMEM;

	if (r == 0 && whole)
		r = merge_vertices(&t);
	if (r == 0)
		forest_thin(f, part->thinned);
	for (size_t i = 0; r == 0 && i < part->buckets.n; i++)
		r = merge_bucket(&t, &part->buckets.v[i]);
	r = r ?: merge_places(&t);
	if (r == 0)
		merge_tally(&f->tally, &part->tally);
	return r;
}

int forest_merge(struct forest *f, const struct forest *part)
{
	return merge(f, part, true);
}

int forest_merge_groups(const struct forest *f, const struct bucket *b, struct forest *ret)
{
	struct forest part = *f;
	struct bucket one = *b;
	_cleanup_free_ struct forest_group *groups = calloc(b->groups.n + 1, sizeof(*groups));
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
	r = r ?: merge(ret, &part, false);
	return r == 0 ? forest_finish(ret) : r;
}
