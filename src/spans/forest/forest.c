#include "spans/forest/forest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/vec.h"

#define OTHER "(other)"

int forest_init(struct forest *f, struct names *names, int64_t slot_width)
{
	*f = (struct forest){.names = names, .slot_width = slot_width};
	return names_text(names, OTHER, strlen(OTHER)) ? 0 : -ENOMEM;
}

static void exemplars_free(struct exemplar *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		VEC_FREE(v[i].spans);
	free(v);
}

static void group_free(struct forest_group *g)
{
	exemplars_free(g->sample.v, g->sample.n);
	exemplars_free(g->slowest.v, g->slowest.n);
	VEC_FREE_EACH(g->requests, VEC_FREE(each->marks));
	sketch_free(g->sketch);
	VEC_FREE_EACH(g->cells, sketch_free(each->sketch));
	VEC_FREE_EACH(g->slots, VEC_FREE(each->cells));
	VEC_FREE(g->leaves);
	VEC_FREE(g->cell_at);
	hmap_free(&g->leaf_of);
}

void forest_free(struct forest *f)
{
	VEC_EACH(b, f->buckets) {
		VEC_FREE_EACH(b->groups, group_free(each));
		hmap_free(&b->group_of);
	}
	VEC_FREE(f->vertices);
	VEC_FREE(f->buckets);
	VEC_FREE(f->places);
	hmap_free(&f->vertex_of);
	hmap_free(&f->names_of);
	hmap_free(&f->bucket_of);
	hmap_free(&f->place_of);
	free(f->rule);
	*f = (struct forest){};
}

/* Maps hold index + 1. */
static uint32_t index_of(const struct hmap *m, uint64_t key, uint64_t key2)
{
	return (uint32_t)(uintptr_t)hmap_get(m, key, key2) - 1;
}

static int put_index(struct hmap *m, uint64_t key, uint64_t key2, size_t index)
{
	return hmap_put(m, key, key2, (void *)(uintptr_t)(index + 1));
}

static void bucket_key(const uint32_t *values, uint32_t entry, uint64_t key[2])
{
	key[0] = hmap_hash_bytes(values, FOREST_DIMENSIONS * sizeof(*values));
	key[1] = (uint64_t)entry << 32 | (uint32_t)(key[0] * 0x9e3779b97f4a7c15ull >> 32);
}

struct bucket *forest_bucket(struct forest *f, const uint32_t values[FOREST_DIMENSIONS], uint32_t entry)
{
	struct bucket fresh = {.entry = entry};
	uint64_t key[2];
	uint32_t at;

	bucket_key(values, entry, key);
	at = index_of(&f->bucket_of, key[0], key[1]);
	if (at != NO_VERTEX)
		return &f->buckets.v[at];
	memcpy(fresh.values, values, sizeof(fresh.values));
	if (f->buckets.n >= FOREST_BUCKETS_MAX) {
		memset(fresh.values, 0, sizeof(fresh.values));
		fresh.entry = names_find(f->names, OTHER);
		f->tally.other_buckets++;
		bucket_key(fresh.values, fresh.entry, key);
		at = index_of(&f->bucket_of, key[0], key[1]);
		if (at != NO_VERTEX)
			return &f->buckets.v[at];
	}
	if (VEC_PUSH(f->buckets, fresh) < 0 || put_index(&f->bucket_of, key[0], key[1], f->buckets.n - 1) < 0)
		return NULL;
	return &f->buckets.v[f->buckets.n - 1];
}

struct forest_group *forest_group(struct forest *f, struct bucket *b, uint32_t versions)
{
	struct forest_group fresh = {.versions = versions, .first_seen = INT64_MAX, .last_seen = INT64_MIN,
			      .slot_width = f->slot_width};
	uint32_t at = index_of(&b->group_of, versions, 0);

	if (at != NO_VERTEX)
		return &b->groups.v[at];
	if (b->groups.n >= FOREST_GROUPS_MAX) {
		struct attribute other = {names_find(f->names, OTHER), names_find(f->names, OTHER)};

		f->tally.other_groups++;
		fresh.versions = names_set(f->names, 0, &other, 1);
		at = index_of(&b->group_of, fresh.versions, 0);
		if (at != NO_VERTEX)
			return &b->groups.v[at];
	}
	fresh.sketch = sketch_new();
	if (!fresh.sketch || VEC_PUSH(b->groups, fresh) < 0) {
		sketch_free(fresh.sketch);
		return NULL;
	}
	return put_index(&b->group_of, fresh.versions, 0, b->groups.n - 1) < 0 ? NULL : &b->groups.v[b->groups.n - 1];
}

/* Has the caller as many calls of this service and kind, by their names, as are kept apart? Counts one more otherwise. 1, 0 or -ENOMEM. */
static int has_many(struct forest *f, uint64_t key, uint64_t key2, bool of_requests)
{
	uintptr_t n = (uintptr_t)hmap_get(&f->names_of, key, key2);

	if (n >= (of_requests ? FOREST_ENTRIES_MAX : FOREST_CALLS_MAX))
		return 1;
	return hmap_put(&f->names_of, key, key2, (void *)(n + 1));
}

/* Rare, and so kept out of the way of the search for one that is known. */
static __attribute__((noinline)) uint32_t add_vertex(struct forest *f, const struct vertex *fresh, uint64_t key, uint64_t key2)
{
	uint32_t other = names_find(f->names, OTHER);
	bool entry = fresh->parent == NO_VERTEX;
	int many;

	if (!entry && (f->vertices.n >= FOREST_VERTICES_MAX || fresh->depth > FOREST_DEPTH_MAX)) {
		f->tally.other_vertices++;
		return fresh->parent;
	}
	many = fresh->operation == other ? 0 : has_many(f, key, (uint32_t)key2, entry);
	if (many > 0) {
		f->tally.other_vertices++;
		return forest_vertex(f, fresh->parent, (enum vertex_kind)fresh->kind, fresh->caller, fresh->service, other);
	}
	if (many < 0 || VEC_PUSH(f->vertices, *fresh) < 0 || put_index(&f->vertex_of, key, key2, f->vertices.n - 1) < 0)
		return NO_VERTEX;
	return (uint32_t)f->vertices.n - 1;
}

uint32_t forest_vertex(struct forest *f, uint32_t parent, enum vertex_kind kind, uint32_t caller, uint32_t service,
		       uint32_t operation)
{
	uint64_t key = (uint64_t)(parent + 1) << 32 | service;
	uint64_t key2 = (uint64_t)operation << 32 | (kind == VERTEX_EDGE ? caller + 1 : 0);
	uint32_t at = index_of(&f->vertex_of, key, key2);
	unsigned depth = parent == NO_VERTEX ? 0 : f->vertices.v[parent].depth + 1u;
	struct vertex fresh = {parent, service, operation, kind == VERTEX_EDGE ? caller : 0, (uint8_t)kind,
			       (uint8_t)depth};

	return at != NO_VERTEX ? at : add_vertex(f, &fresh, key, key2);
}

struct cell *forest_make_cell(struct forest_group *g, uint32_t vertex)
{
	struct cell fresh = {.vertex = vertex};

	while (g->cell_at.n <= vertex)
		if (VEC_PUSH(g->cell_at, 0) < 0)
			return NULL;
	fresh.sketch = sketch_new();
	if (!fresh.sketch || VEC_PUSH(g->cells, fresh) < 0) {
		sketch_free(fresh.sketch);
		return NULL;
	}
	g->cell_at.v[vertex] = (uint32_t)g->cells.n;
	return &g->cells.v[g->cells.n - 1];
}

static int64_t forest_floor(int64_t wall, int64_t width)
{
	int64_t rest = wall % width;

	return wall - rest - (rest < 0 ? width : 0);
}

struct slot_cell *forest_slot_cell(struct slot *s, uint32_t vertex, size_t hint)
{
	if (hint < s->cells.n && s->cells.v[hint].vertex == vertex)
		return &s->cells.v[hint];
	for (size_t i = 0; i < s->cells.n; i++)
		if (s->cells.v[i].vertex == vertex)
			return &s->cells.v[i];
	if (VEC_PUSH(s->cells, (struct slot_cell){.vertex = vertex}) < 0)
		return NULL;
	return &s->cells.v[s->cells.n - 1];
}

int forest_slot_add(struct slot *s, const struct slot_cell *part, uint32_t vertex, size_t hint)
{
	struct slot_cell *cell = forest_slot_cell(s, vertex, hint);

	if (!cell)
		return -ENOMEM;
	cell->calls += part->calls;
	cell->path += part->path;
	cell->self += part->self;
	return 0;
}

static int slot_merge(struct slot *s, const struct slot *part)
{
	int r = 0;

	moments_merge(&s->total, &part->total);
	for (size_t i = 0; r == 0 && i < part->cells.n; i++)
		r = forest_slot_add(s, &part->cells.v[i], part->cells.v[i].vertex, i);
	return r;
}

ORDER(by_start, struct slot, ASCENDING(start))

int forest_coarsen(struct forest_group *g, int64_t width)
{
	size_t kept = 0;

	g->slot_width = width;
	VEC_SORT(g->slots, by_start);
	for (size_t i = 0; i < g->slots.n; i++) {
		struct slot s = g->slots.v[i];

		s.start = forest_floor(s.start, width);
		if (kept && g->slots.v[kept - 1].start == s.start) {
			if (slot_merge(&g->slots.v[kept - 1], &s) < 0)
				return -ENOMEM;
			VEC_FREE(s.cells);
		} else {
			g->slots.v[kept++] = s;
		}
	}
	g->slots.n = kept;
	g->last_slot = 0;
	return 0;
}

int64_t forest_slot(struct forest_group *g, int64_t wall)
{
	for (;;) {
		int64_t start = forest_floor(wall, g->slot_width);

		if (g->last_slot < g->slots.n && g->slots.v[g->last_slot].start == start)
			return g->last_slot;
		for (uint32_t i = 0; i < g->slots.n; i++) {
			if (g->slots.v[i].start != start)
				continue;
			g->last_slot = i;
			return i;
		}
		if (VEC_PUSH(g->slots, (struct slot){.start = start}) < 0)
			return -ENOMEM;
		if (g->slots.n <= FOREST_SLOTS_MAX) {
			g->last_slot = (uint32_t)g->slots.n - 1;
			return g->last_slot;
		}
		if (forest_coarsen(g, 2 * g->slot_width) < 0)
			return -ENOMEM;
	}
}

struct leaf *forest_leaf(struct forest *f, struct forest_group *g, uint32_t set)
{
	uint32_t at = index_of(&g->leaf_of, set, 0);

	if (at != NO_VERTEX)
		return &g->leaves.v[at];
	if (set && f->n_leaves >= FOREST_LEAVES_MAX) {
		f->tally.other_leaves++;
		return forest_leaf(f, g, 0);
	}
	if (VEC_PUSH(g->leaves, (struct leaf){.set = set}) < 0 || put_index(&g->leaf_of, set, 0, g->leaves.n - 1) < 0)
		return NULL;
	f->n_leaves++;
	return &g->leaves.v[g->leaves.n - 1];
}

static uint64_t place_key(uint32_t bucket, uint32_t vertex)
{
	return (uint64_t)bucket << 32 | vertex;
}

void forest_prefetch_place(const struct forest *f, uint32_t bucket, uint32_t vertex, uint32_t host)
{
	hmap_prefetch(&f->place_of, place_key(bucket, vertex), host);
}

struct forest_place *forest_place(struct forest *f, uint32_t bucket, uint32_t vertex, uint32_t host)
{
	uint64_t key = place_key(bucket, vertex);
	uint32_t at = index_of(&f->place_of, key, host);

	if (at != NO_VERTEX)
		return &f->places.v[at];
	if (f->places.n >= FOREST_PLACES_MAX) {
		f->tally.other_places++;
		return NULL;
	}
	if (VEC_PUSH(f->places, (struct forest_place){.bucket = bucket, .vertex = vertex, .host = host}) < 0 ||
	    put_index(&f->place_of, key, host, f->places.n - 1) < 0)
		return NULL;
	return &f->places.v[f->places.n - 1];
}

static int by_lot(const struct exemplar *a, const struct exemplar *b)
{
	return CMP(span_trace_id_lot(a->high, a->low), span_trace_id_lot(b->high, b->low)) ?: ASCENDING(start);
}

static int by_duration(const struct exemplar *a, const struct exemplar *b)
{
	return DESCENDING(duration) ?: by_lot(a, b);
}

/* Into an ordered list of at most `most`; the last falls off. */
static int keep(struct exemplar **v, size_t *n, size_t *allocated, size_t most, struct exemplar *e,
		int (*order)(const struct exemplar *, const struct exemplar *))
{
	struct {
		VEC(struct exemplar) list;
	} x = {{*v, *n, *allocated}};
	size_t at;

	if (VEC_PUSH(x.list, *e) < 0) {
		VEC_FREE(e->spans);
		return -ENOMEM;
	}
	for (at = x.list.n - 1; at > 0 && order(e, &x.list.v[at - 1]) < 0; at--)
		x.list.v[at] = x.list.v[at - 1];
	x.list.v[at] = *e;
	if (x.list.n > most) {
		x.list.n--;
		VEC_FREE(x.list.v[x.list.n].spans);
	}
	*v = x.list.v;
	*n = x.list.n;
	*allocated = x.list.allocated;
	*e = (struct exemplar){};
	return 0;
}

int forest_keep_sample(struct forest_group *g, struct exemplar *e)
{
	return keep(&g->sample.v, &g->sample.n, &g->sample.allocated, FOREST_SAMPLE, e, by_lot);
}

int forest_keep_slowest(struct forest_group *g, struct exemplar *e)
{
	return keep(&g->slowest.v, &g->slowest.n, &g->slowest.allocated, FOREST_SLOWEST, e, by_duration);
}

bool forest_samples(const struct forest_group *g, uint64_t high, uint64_t low)
{
	const struct exemplar *last;

	if (g->sample.n < FOREST_SAMPLE)
		return true;
	last = &g->sample.v[g->sample.n - 1];
	return span_trace_id_lot(high, low) <= span_trace_id_lot(last->high, last->low);
}

bool forest_is_slowest(const struct forest_group *g, int64_t duration, uint64_t high, uint64_t low)
{
	const struct exemplar *last;

	if (g->slowest.n < FOREST_SLOWEST)
		return true;
	last = &g->slowest.v[g->slowest.n - 1];
	return duration > last->duration ||
	       (duration == last->duration &&
		span_trace_id_lot(high, low) <= span_trace_id_lot(last->high, last->low));
}
