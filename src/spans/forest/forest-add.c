#include "spans/forest/forest-add.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"

#define VERSIONS_MAX 64 /* packages of one trace */

struct vertex_scratch {
	uint32_t turn;	/* of the parent span whose children are looked at */
	uint32_t failed_turn;
	int64_t low;	/* where the calls seen so far begin */
	int64_t failed; /* end of the first failed one */
};

void forest_builder_free(struct forest_builder *b)
{
	tree_free(&b->tree);
	FREE_ALL(b->vertex, b->sum, b->self, b->calls, b->touched, b->scratch);
	hmap_free(&b->combinations);
	hmap_free(&b->leaf_sets);
	hmap_free(&b->call_texts);
}

static int grow_spans(struct forest_builder *b, uint32_t n)
{
	uint32_t *grown;

	if (n <= b->allocated)
		return 0;
	n = n < 256 ? 256 : 2 * n;
	grown = reallocarray(b->vertex, n, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	b->vertex = grown;
	b->allocated = n;
	return 0;
}

/* Room for what the vertices of this trace need. */
static int grow_vertices(struct forest_builder *b)
{
	size_t n = b->forest->vertices.n, want = b->n_vertices ? b->n_vertices : 64;
	int64_t *sum, *self;
	uint32_t *calls, *touched;
	struct vertex_scratch *scratch;

	if (n <= b->n_vertices)
		return 0;
	while (want < n)
		want *= 2;
	sum = reallocarray(b->sum, want, sizeof(*sum));
	b->sum = sum ? sum : b->sum;
	self = reallocarray(b->self, want, sizeof(*self));
	b->self = self ? self : b->self;
	calls = reallocarray(b->calls, want, sizeof(*calls));
	b->calls = calls ? calls : b->calls;
	touched = reallocarray(b->touched, want, sizeof(*touched));
	b->touched = touched ? touched : b->touched;
	scratch = reallocarray(b->scratch, want, sizeof(*scratch));
	b->scratch = scratch ? scratch : b->scratch;
	if (!sum || !self || !calls || !touched || !scratch)
		return -ENOMEM;
	memset(sum + b->n_vertices, 0, (want - b->n_vertices) * sizeof(*sum));
	memset(self + b->n_vertices, 0, (want - b->n_vertices) * sizeof(*self));
	memset(calls + b->n_vertices, 0, (want - b->n_vertices) * sizeof(*calls));
	memset(scratch + b->n_vertices, 0, (want - b->n_vertices) * sizeof(*scratch));
	b->n_vertices = want;
	return 0;
}

/* A client span is the edge to its callee: the service of its (remote) child, or what it says it calls. A producer span is one to what it says,
 * the queue: what handles the message has no part in sending it. 0 = no edge. */
static uint32_t callee_of(struct forest_builder *b, const struct span *spans, uint32_t i)
{
	const struct tree *t = &b->tree;
	const struct span *s = &spans[i];
	uint32_t n = s->kind == SPAN_PRODUCER ? 0 : t->first[i + 1] - t->first[i];
	const struct set_record *record;

	if (s->kind != SPAN_CLIENT && s->kind != SPAN_PRODUCER && (s->kind != SPAN_UNKNOWN || n != 1))
		return 0;
	for (uint32_t k = 0; k < n; k++)
		if (spans[t->child[t->first[i] + k]].service != s->service)
			return spans[t->child[t->first[i] + k]].service;
	if (n || !s->attributes || s->kind == SPAN_UNKNOWN)
		return 0;
	record = span_record_of(b->records, s->attributes);
	return record ? record->callee : 0;
}

static int find_vertices(struct forest_builder *b, const struct span *spans)
{
	struct tree *t = &b->tree;

	for (uint32_t k = 0; k < t->reached; k++) {
		uint32_t i = t->order[k], parent = i == t->root ? NO_VERTEX : b->vertex[t->parent[i]];
		uint32_t callee = callee_of(b, spans, i);

		if (callee)
			t->flags[i] |= TREE_EDGE;
		b->vertex[i] = forest_vertex(b->forest, parent, callee ? VERTEX_EDGE : VERTEX_CALL, spans[i].service,
					     callee ? callee : spans[i].service, spans[i].operation);
		if (b->vertex[i] == NO_VERTEX)
			return -ENOMEM;
	}
	return grow_vertices(b);
}

/* --- whose request it is ------------------------------------------------------------------------------------------ */

static uint32_t value_of(struct forest_builder *b, const struct span *s, uint32_t dimension)
{
	const struct set_record *record = s->attributes ? span_record_of(b->records, s->attributes) : NULL;
	uint32_t value = record ? record->values[dimension] : 0;

	if (value)
		return value;
	record = span_record_of(b->records, s->resource);
	return record ? record->values[dimension] : 0;
}

/* The root's word counts; where it has none, that of the first span which has one (parents before children). */
static void dimension_values(struct forest_builder *b, const struct span *spans, uint32_t values[FOREST_DIMENSIONS])
{
	const struct tree *t = &b->tree;

	for (uint32_t d = 0; d < b->records->n_dimensions; d++)
		for (uint32_t k = 0; k < t->reached && !values[d]; k++)
			values[d] = value_of(b, &spans[t->order[k]], d);
}

/* A mix (or one version) and another version: each once, in the order of their texts. 0 without memory. */
static uint32_t mix_versions(struct names *names, const char *mix, const char *one)
{
	_cleanup_str_ struct str s = {};
	bool put = false;

	for (const char *at = mix; at; at = strstr(at, VERSION_MIX) ? strstr(at, VERSION_MIX) + strlen(VERSION_MIX) : NULL) {
		const char *end = strstr(at, VERSION_MIX);
		int n = (int)(end ? (size_t)(end - at) : strlen(at)), order = strncmp(one, at, (size_t)n);

		order = order ? order : one[n] != '\0';
		if (order <= 0 && !put) {
			str_printf(&s, "%s%s", s.len ? VERSION_MIX : "", one);
			put = true;
		}
		if (order)
			str_printf(&s, "%s%.*s", s.len ? VERSION_MIX : "", n, at);
	}
	if (!put)
		str_printf(&s, "%s%s", s.len ? VERSION_MIX : "", one);
	return s.error ? 0 : names_text(names, s.data, s.len);
}

/* Two versions of one package within a request (a roll-out) are a version of their own. */
static uint32_t unite(struct forest_builder *b, const uint32_t *sets, size_t n)
{
	struct attribute v[4 * VERSIONS_MAX];
	struct names *names = b->forest->names;
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		const struct attribute_set *set = names_get_set(names, sets[i]);

		for (uint32_t j = 0; j < set->n && used < 4 * VERSIONS_MAX; j++) {
			struct attribute one = set->v[j];
			size_t at = 0;

			while (at < used && v[at].key != one.key)
				at++;
			if (at < used && v[at].value != one.value)
				one.value = mix_versions(names, names_get(names, v[at].value), names_get(names, one.value));
			v[at] = one;
			used += at == used;
		}
	}
	return used ? names_set(names, 0, v, used) : 0;
}

ORDER(by_number, uint32_t, CMP(*a, *b))

/* The version combination of all packages that took part. */
static uint32_t combination(struct forest_builder *b, const struct span *spans)
{
	const struct tree *t = &b->tree;
	uint32_t sets[VERSIONS_MAX], last = 0, result;
	size_t n = 0;
	uint64_t key;
	void *known;

	for (uint32_t k = 0; k < t->reached; k++) {
		uint32_t resource = spans[t->order[k]].resource;
		const struct set_record *record;
		size_t at = 0;

		if (resource == last)
			continue;
		last = resource;
		record = span_record_of(b->records, resource);
		if (!record || !record->versions)
			continue;
		while (at < n && sets[at] != record->versions)
			at++;
		if (at == n && n < VERSIONS_MAX)
			sets[n++] = record->versions;
	}
	if (n < 2)
		return n ? sets[0] : 0;
	qsort(sets, n, sizeof(*sets), by_number);
	key = hmap_hash_bytes(sets, n * sizeof(*sets));
	known = hmap_get(&b->combinations, key, n);
	if (known)
		return (uint32_t)(uintptr_t)known;
	result = unite(b, sets, n);
	if (result)
		hmap_put(&b->combinations, key, n, (void *)(uintptr_t)result);
	return result;
}

static uint32_t leaf_set(struct forest_builder *b, const struct span *root)
{
	void *known = hmap_get(&b->leaf_sets, root->attributes, root->resource);
	struct attribute v[256];
	const uint32_t parts[2] = {root->resource, root->attributes};
	size_t n = 0;
	uint32_t set;

	if (known)
		return (uint32_t)(uintptr_t)known;
	for (int i = 0; i < 2; i++) {
		const struct set_record *record = span_record_of(b->records, parts[i]);
		const struct attribute_set *all = names_get_set(b->forest->names, record ? record->joined : 0);

		for (uint32_t j = 0; j < all->n && n < 256; j++)
			if (!names_too_fine(b->forest->names, all->v[j].key))
				v[n++] = all->v[j];
	}
	set = names_set(b->forest->names, root->service, v, n);
	if (set)
		hmap_put(&b->leaf_sets, root->attributes, root->resource, (void *)(uintptr_t)set);
	return set;
}

/* --- what it cost ------------------------------------------------------------------------------------------------- */

/* It failed, or whom it called did: not every client marks what its server answered. */
static bool has_failed(const struct tree *t, const struct span *spans, uint32_t c)
{
	if (spans[c].flags & SPAN_ERROR)
		return true;
	return t->flags[c] & TREE_EDGE && t->first[c + 1] > t->first[c] && spans[t->child[t->first[c]]].flags & SPAN_ERROR;
}

/* Time in which a child ran, and what each vertex among the children covers; children come by end, the last first. */
static int64_t children_busy(struct forest_builder *b, struct forest_group *g, const struct span *spans,
			     uint32_t p, uint64_t weight)
{
	const struct tree *t = &b->tree;
	const uint32_t *child = t->child + t->first[p];
	int64_t low = INT64_MAX, busy = 0;
	bool failed = false;

	b->turn++;
	for (uint32_t k = t->count[p]; k-- > 0;) {
		uint32_t c = child[k];
		struct vertex_scratch *s = &b->scratch[b->vertex[c]];
		struct cell *cell = forest_cell(g, b->vertex[c]);
		int64_t end = t->end[c] < low ? t->end[c] : low, own_end = t->end[c];

		if (!cell)
			continue;
		busy += end > t->start[c] ? end - t->start[c] : 0;
		low = t->start[c] < low ? t->start[c] : low;
		if (s->turn != b->turn) {
			s->turn = b->turn;
			s->low = INT64_MAX;
			cell->parents += weight;
		}
		own_end = own_end < s->low ? own_end : s->low;
		cell->wall += own_end > t->start[c] ? (wide)(own_end - t->start[c]) * weight : 0;
		s->low = t->start[c] < s->low ? t->start[c] : s->low;
		failed |= has_failed(t, spans, c);
	}
	for (uint32_t k = 0; failed && k < t->count[p]; k++) {
		uint32_t c = child[k];
		struct vertex_scratch *s = &b->scratch[b->vertex[c]];

		if (s->failed_turn == b->turn && t->start[c] >= s->failed)
			forest_cell(g, b->vertex[c])->retries += weight;
		if (s->failed_turn != b->turn && has_failed(t, spans, c)) {
			s->failed_turn = b->turn;
			s->failed = t->end[c];
		}
	}
	return busy;
}

/* The process that made a call; for an edge, the callee's. NULL without memory. */
static const struct set_record *maker_of(struct forest_builder *b, const struct span *spans, uint32_t i)
{
	const struct tree *t = &b->tree;

	if (t->flags[i] & TREE_EDGE && spans[i].kind != SPAN_PRODUCER && t->first[i + 1] > t->first[i])
		i = t->child[t->first[i]];
	return span_record_of(b->records, spans[i].resource);
}

static uint32_t host_of(struct forest_builder *b, const struct span *spans, uint32_t i)
{
	const struct set_record *record = maker_of(b, spans, i);

	return record ? record->host : 0;
}

static int64_t slack_of(const struct tree *t, uint32_t i)
{
	int64_t slack = t->end[t->parent[i]] - t->end[i];

	return slack > 0 ? slack : 0;
}

static int add_span(struct forest_builder *b, struct forest_group *g, uint32_t bucket, const struct span *spans, uint32_t i,
		    uint64_t weight)
{
	struct tree *t = &b->tree;
	uint32_t v = b->vertex[i], host = host_of(b, spans, i);
	int64_t duration = t->end[i] - t->start[i], own = duration, called = 0;
	struct cell *cell;
	struct forest_place *place;

	if (t->count[i]) {
		own -= children_busy(b, g, spans, i, weight);
		for (uint32_t k = 0; k < t->count[i]; k++)
			called += t->end[t->child[t->first[i] + k]] - t->start[t->child[t->first[i] + k]];
	}
	cell = forest_cell(g, v);
	if (!cell)
		return -ENOMEM;
	moments_add(&cell->duration, (uint64_t)duration, weight);
	moments_add(&cell->self, (uint64_t)(own > 0 ? own : 0), weight);
	b->self[v] += own > 0 ? own : 0;
	cell->called += (wide)called * weight;
	cell->busy += (wide)(duration - own) * weight;
	cell->errors += spans[i].flags & SPAN_ERROR ? weight : 0;
	cell->asynchronous += t->flags[i] & TREE_ASYNCHRONOUS ? weight : 0;
	if (!b->calls[v]++)
		b->touched[b->n_touched++] = v;
	if (t->flags[i] & TREE_ON_PATH) {
		b->sum[v] += t->own[i];
		cell->drag += (wide)tree_drag(t, i, false) * weight;
	} else if (!(t->flags[i] & TREE_ASYNCHRONOUS)) {
		cell->slack += (wide)slack_of(t, i) * weight;
	}
	place = host ? forest_place(b->forest, bucket, v, host) : NULL;
	if (place)
		moments_add(&place->path, (uint64_t)own, weight);
	return sketch_add(cell->sketch, (uint64_t)duration, weight);
}

/* CRISP clamps a call path whose children overlap to 0; with the other rules no sum is negative. */
static int add_paths(struct forest_builder *b, struct forest_group *g, struct slot *slot, uint64_t weight)
{
	for (size_t k = 0; k < b->n_touched; k++) {
		uint32_t v = b->touched[k];
		int64_t sum = b->sum[v] > 0 ? b->sum[v] : 0;
		struct cell *cell = forest_cell(g, v);
		struct slot_cell *in_slot = forest_slot_cell(slot, v, (size_t)(cell - g->cells.v));

		if (!in_slot)
			return -ENOMEM;
		moments_add(&cell->path, (uint64_t)sum, weight);
		in_slot->calls += b->calls[v] * weight;
		in_slot->path += (wide)sum * weight;
		in_slot->self += (wide)b->self[v] * weight;
		b->sum[v] = 0;
		b->self[v] = 0;
		b->calls[v] = 0;
	}
	b->n_touched = 0;
	return 0;
}

/* Another trace that a span refers to, by its id. */
static void add_link(const struct forest_builder *b, const struct span *span, struct exemplar_span *to)
{
	const struct span_link *link = b->links ? span_links_of(b->links, span) : NULL;
	const char *id;

	if (!link)
		return;
	id = SPAN_TRACE_ID(b->forest->names, link->high, link->low);
	to->link = names_text(b->forest->names, id, strlen(id));
	to->links = link->n;
}

static int fill_exemplar(struct forest_builder *b, const struct span *spans, struct exemplar *e)
{
	const struct tree *t = &b->tree;
	const struct span *root = &spans[t->root];
	uint32_t n = t->reached < FOREST_EXEMPLAR_MAX ? t->reached : FOREST_EXEMPLAR_MAX;

	*e = (struct exemplar){root->trace_high, root->trace_low, root->start, span_duration(root), t->reached, {}};
	e->spans.v = calloc(n, sizeof(*e->spans.v));
	if (!e->spans.v)
		return -ENOMEM;
	e->spans.n = e->spans.allocated = n;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = t->order[k], p = t->parent[i], parent = NO_SPAN;
		int64_t own = t->flags[i] & TREE_ON_PATH && t->own[i] > 0 ? t->own[i] : 0;
		const struct set_record *maker = maker_of(b, spans, i);

		for (uint32_t j = 0; p != NO_SPAN && j < k && parent == NO_SPAN; j++)
			parent = t->order[j] == p ? j : NO_SPAN;
		e->spans.v[k] = (struct exemplar_span){b->vertex[i], parent, maker ? maker->host : 0, maker ? maker->process : 0,
						       t->start[i] - root->start, t->end[i] - root->start, own, spans[i].flags & SPAN_ERROR, 0, 0};
		add_link(b, &spans[i], &e->spans.v[k]);
	}
	return 0;
}

static int keep_exemplars(struct forest_builder *b, struct forest_group *g, const struct span *spans)
{
	const struct span *root = &spans[b->tree.root];
	struct exemplar e;
	int r = 0;

	if (forest_samples(g, root->trace_high, root->trace_low)) {
		r = fill_exemplar(b, spans, &e);
		if (r == 0)
			r = forest_keep_sample(g, &e);
	}
	if (r == 0 && forest_is_slowest(g, span_duration(root), root->trace_high, root->trace_low)) {
		r = fill_exemplar(b, spans, &e);
		if (r == 0)
			r = forest_keep_slowest(g, &e);
	}
	return r;
}

static int add_total(struct forest_builder *b, struct forest_group *g, const struct span *root, uint32_t set, struct slot *slot)
{
	uint64_t duration = (uint64_t)span_duration(root);
	struct leaf *leaf = forest_leaf(b->forest, g, set);

	if (!leaf)
		return -ENOMEM;
	moments_add(&g->total, duration, root->weight);
	moments_add(&slot->total, duration, root->weight);
	moments_add(&leaf->total, duration, root->weight);
	g->errors += root->flags & SPAN_ERROR ? root->weight : 0;
	g->first_seen = root->start < g->first_seen ? root->start : g->first_seen;
	g->last_seen = root->start > g->last_seen ? root->start : g->last_seen;
	return sketch_add(g->sketch, duration, root->weight);
}

/* "service operation" */
static uint32_t call_text(struct forest_builder *b, const struct span *span)
{
	char text[2 * NAME_TEXT_MAX + 2];
	void *known = hmap_get(&b->call_texts, span->service, span->operation);
	uint32_t id;

	if (known)
		return (uint32_t)(uintptr_t)known;
	span_call_text(b->forest->names, span->service, span->operation, text);
	id = names_text(b->forest->names, text, strlen(text));
	if (id)
		hmap_put(&b->call_texts, span->service, span->operation, (void *)(uintptr_t)id);
	return id;
}

/* --- requests that are searched ----------------------------------------------------------------------------------- */

/* A call of a request, however often it was made. */
struct call_made {
	uint32_t text, longest, failed; /* spans; failed: the first that did, or NO_SPAN */
	int64_t path;
};

static size_t find_call(struct call_made *calls, size_t *n, uint32_t text)
{
	size_t at = 0;

	while (at < *n && calls[at].text != text)
		at++;
	if (at == *n && at < FOREST_MARKS_MAX / 2)
		calls[(*n)++] = (struct call_made){text, NO_SPAN, NO_SPAN, 0};
	return at < *n ? at : SIZE_MAX;
}

/* The calls below the root, their time on the path, and which of each took longest. Their number. */
static size_t calls_made(struct forest_builder *b, const struct span *spans, struct call_made calls[FOREST_MARKS_MAX / 2])
{
	const struct tree *t = &b->tree;
	size_t n = 0;

	for (uint32_t k = 0; k < t->reached; k++) {
		uint32_t i = t->order[k];
		size_t at = i == t->root ? SIZE_MAX : find_call(calls, &n, call_text(b, &spans[i]));
		struct call_made *c = &calls[at < n ? at : 0];

		if (at == SIZE_MAX)
			continue;
		c->path += t->flags[i] & TREE_ON_PATH && t->own[i] > 0 ? t->own[i] : 0;
		if (c->failed == NO_SPAN && spans[i].flags & SPAN_ERROR)
			c->failed = i;
		if (c->longest == NO_SPAN || t->end[i] - t->start[i] > t->end[c->longest] - t->start[c->longest])
			c->longest = i;
	}
	return n;
}

static int mark_attributes(struct forest_builder *b, const struct call_made *call, uint32_t set, struct sampled_request *r)
{
	const struct attribute_set *s = names_get_set(b->forest->names, set);
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < s->n && r->marks.n < FOREST_MARKS_MAX; i++)
		if (names_values(b->forest->names, s->v[i].key) <= FOREST_MARK_VALUES)
			result = VEC_PUSH(r->marks, (struct request_mark){call->text, s->v[i].key, s->v[i].value, 0});
	return result;
}

/* By what it failed, where a later try took longer. */
static int mark_error(struct forest_builder *b, const struct span *spans, const struct call_made *call, struct sampled_request *r)
{
	const struct span *failed = call->failed == NO_SPAN || call->failed == call->longest ? NULL : &spans[call->failed];
	const uint32_t sets[] = {failed ? failed->attributes : 0, failed ? failed->more : 0};
	struct attribute type = {};

	for (size_t k = 0; k < ARRAY_SIZE(sets); k++) {
		const struct attribute_set *s = names_get_set(b->forest->names, sets[k]);

		for (uint32_t i = 0; i < s->n; i++)
			names_take_error_type(b->forest->names, &s->v[i], &type);
	}
	if (!type.key || r->marks.n >= FOREST_MARKS_MAX)
		return 0;
	return VEC_PUSH(r->marks, (struct request_mark){call->text, type.key, type.value, 0});
}

/* Where it ran. */
static int mark_host(struct forest_builder *b, const struct call_made *call, uint32_t host, struct sampled_request *r)
{
	uint32_t key = names_text(b->forest->names, "host", 4);

	if (!host || !key || r->marks.n >= FOREST_MARKS_MAX)
		return 0;
	return VEC_PUSH(r->marks, (struct request_mark){call->text, key, host, 0});
}

static int mark_calls(struct forest_builder *b, const struct span *spans, struct sampled_request *r)
{
	struct call_made calls[FOREST_MARKS_MAX / 2];
	size_t n = calls_made(b, spans, calls);
	int result = 0;

	for (size_t i = 0; result == 0 && i < n; i++)
		result = VEC_PUSH(r->marks, (struct request_mark){calls[i].text, 0, 0, calls[i].path});
	for (size_t i = 0; result == 0 && i < n; i++) {
		result = mark_host(b, &calls[i], host_of(b, spans, calls[i].longest), r);
		if (result == 0)
			result = mark_attributes(b, &calls[i], spans[calls[i].longest].attributes, r);
		if (result == 0)
			result = mark_attributes(b, &calls[i], spans[calls[i].longest].more, r);
		if (result == 0)
			result = mark_error(b, spans, &calls[i], r);
	}
	return result;
}

/* One whose spans were not all read whole would look like one without their attributes. */
static bool is_whole(const struct forest_builder *b, const struct span *spans)
{
	for (uint32_t k = 0; k < b->tree.reached; k++)
		if (!(spans[b->tree.order[k]].flags & SPAN_WHOLE))
			return false;
	return true;
}

static int keep_request(struct forest_builder *b, struct forest_group *g, const struct span *spans,
			uint32_t set)
{
	const struct span *root = &spans[b->tree.root];
	struct sampled_request r = {.high = root->trace_high, .low = root->trace_low, .start = root->start, .duration = span_duration(root),
			    .weight = root->weight, .set = set, .error = root->flags & SPAN_ERROR};
	int result;

	if (!forest_takes_request(b->forest->thinned, r.high, r.low) || !is_whole(b, spans))
		return 0;
	result = mark_calls(b, spans, &r);
	if (result == 0)
		return forest_keep_request(b->forest, g, &r);
	VEC_FREE(r.marks);
	return result;
}

/* Every span of a request touches memory of its own (cell, sketch, host): all of it is fetched at once instead of waited for
 * one by one. */
static void fetch_ahead(struct forest_builder *b, struct forest_group *g, uint32_t bucket,
			const struct span *spans)
{
	const struct tree *t = &b->tree;

	for (uint32_t k = 0; k < t->reached; k++) {
		uint32_t i = t->order[k];
		const struct cell *cell = forest_cell(g, b->vertex[i]);

		for (size_t at = 0; cell && at < sizeof(*cell); at += 64)
			__builtin_prefetch((const char *)cell + at, 1);
		forest_prefetch_place(b->forest, bucket, b->vertex[i], host_of(b, spans, i));
	}
	for (uint32_t k = 0; k < t->reached; k++) {
		const struct cell *cell = forest_cell(g, b->vertex[t->order[k]]);

		if (cell)
			__builtin_prefetch(cell->sketch, 1);
	}
	for (uint32_t k = 0; k < t->reached; k++) {
		uint32_t i = t->order[k];
		const struct cell *cell = forest_cell(g, b->vertex[i]);

		if (cell)
			sketch_prefetch(cell->sketch, (uint64_t)(t->end[i] - t->start[i]));
	}
}

static int add_request(struct forest_builder *b, const struct span *spans)
{
	const struct span *root = &spans[b->tree.root];
	struct span entry = *root;
	uint32_t values[FOREST_DIMENSIONS] = {}, bucket_index, set = leaf_set(b, root);
	struct bucket *bucket;
	struct forest_group *g;
	int64_t at;
	int r;

	dimension_values(b, spans, values);
	if (find_vertices(b, spans) < 0)
		return -ENOMEM;
	entry.operation = b->forest->vertices.v[b->vertex[b->tree.root]].operation; /* of very many of a service those that came later are one */
	bucket = forest_bucket(b->forest, values, call_text(b, &entry));
	g = bucket ? forest_group(b->forest, bucket, combination(b, spans)) : NULL;
	if (!g)
		return -ENOMEM;
	bucket_index = (uint32_t)(bucket - b->forest->buckets.v);
	fetch_ahead(b, g, bucket_index, spans);
	for (uint32_t k = 0; k < b->tree.reached; k++) {
		r = add_span(b, g, bucket_index, spans, b->tree.order[k], root->weight);
		if (r < 0)
			return r;
	}
	at = forest_slot(g, root->start);
	if (at < 0)
		return (int)at;
	r = add_paths(b, g, &g->slots.v[at], root->weight);
	if (r == 0)
		r = add_total(b, g, root, set, &g->slots.v[at]);
	if (r == 0)
		r = keep_request(b, g, spans, set);
	return r == 0 ? keep_exemplars(b, g, spans) : r;
}

int forest_builder_add(void *builder, const struct span *spans, uint32_t n)
{
	struct forest_builder *b = builder;
	struct forest_tally *tally = &b->forest->tally;
	struct tree_tally counted = {};
	int r;

	if (b->only.n && span_trace_ids_find(&b->only, spans[0].trace_high, spans[0].trace_low) < 0)
		return 0;
	r = grow_spans(b, n);
	if (r == 0)
		r = trace_tree(spans, n, b->rule, &b->tree, &counted);
	if (r < 0)
		return r;
	tally->spans += n;
	tally->traces++;
	tally->duplicates += counted.duplicates;
	tally->more_roots += counted.more_roots;
	tally->clamped += counted.clamped;
	tally->clamped_ns += counted.clamped_ns;
	tally->outside += counted.outside;
	tally->skewed += counted.skewed;
	tally->orphans += n - b->tree.reached - counted.duplicates - counted.more_roots;
	tally->orphan_traces += b->tree.root == NO_SPAN;
	if (b->tree.root == NO_SPAN)
		return 0;
	if (spans[b->tree.root].start < b->from || spans[b->tree.root].start >= b->to)
		return 0;
	tally->requests++;
	trace_path(&b->tree, b->rule);
	return add_request(b, spans);
}
