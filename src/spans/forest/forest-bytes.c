/* A finished forest as bytes, the same for the same requests in whatever parts they came: lists are in the order of
 * their texts, a text is written where it is first used and is a number afterwards. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "spans/forest/forest.h"

#define MAGIC	"WSFOREST"
#define VERSION	     6
#define NO_LINKS     5 /* until then requests that are kept whole do not say to which traces they refer */
#define NO_REQUESTS  4 /* until then without a sample of requests */
#define NO_PROCESSES 3 /* until then requests that are kept whole do not say of which process */
#define OLD_VERSION  2 /* self times as sums alone, and none by time */
#define LIST_MAX ((uint64_t)1 << 24) /* longer lists are damage */

struct writer {
	const struct names *names;
	struct str *out;
	struct hmap seen; /* text id -> number */
};

static void put_text(struct writer *w, uint32_t id)
{
	uintptr_t number = (uintptr_t)hmap_get(&w->seen, id, 0);
	const char *text = names_get(w->names, id);

	if (!id || number) {
		str_put_varint(w->out, id ? number + 1 : 0);
		return;
	}
	str_put_varint(w->out, 1);
	str_put_blob(w->out, text, strlen(text));
	if (hmap_put(&w->seen, id, 0, (void *)(w->seen.n + 1)) < 0)
		w->out->error = -ENOMEM;
}

static void put_wide(struct writer *w, wide value)
{
	str_put_varint(w->out, (uint64_t)value);
	str_put_varint(w->out, (uint64_t)(value >> 64));
}

static void put_moments(struct writer *w, const struct moments *m)
{
	str_put_varint(w->out, m->samples);
	if (!m->samples)
		return;
	str_put_varint(w->out, m->count);
	put_wide(w, m->sum);
	put_wide(w, m->square_low);
	str_put_varint(w->out, m->square_high);
	put_wide(w, m->weight_square);
}

static int by_key_text(const void *a, const void *b, void *context)
{
	const struct attribute *x = a, *y = b;

	return strcmp(names_get(context, x->key), names_get(context, y->key));
}

static void put_set(struct writer *w, uint32_t id)
{
	const struct attribute_set *set = names_get_set(w->names, id);
	_cleanup_free_ struct attribute *v = calloc(set->n + 1, sizeof(*v));

	if (!v) {
		w->out->error = -ENOMEM;
		return;
	}
	if (set->n)
		memcpy(v, set->v, set->n * sizeof(*v));
	qsort_r(v, set->n, sizeof(*v), by_key_text, (void *)w->names);
	put_text(w, set->service);
	str_put_varint(w->out, set->n);
	for (uint32_t i = 0; i < set->n; i++) {
		put_text(w, v[i].key);
		put_text(w, v[i].value);
	}
}

static void put_cell(struct writer *w, const struct cell *c)
{
	str_put_varint(w->out, c->vertex);
	put_moments(w, &c->duration);
	put_moments(w, &c->path);
	put_moments(w, &c->self);
	put_wide(w, c->called);
	put_wide(w, c->busy);
	put_wide(w, c->drag);
	put_wide(w, c->slack);
	put_wide(w, c->wall);
	str_put_varint(w->out, c->parents);
	str_put_varint(w->out, c->errors);
	str_put_varint(w->out, c->retries);
	str_put_varint(w->out, c->asynchronous);
	sketch_write(c->sketch, w->out);
}

static void put_slot(struct writer *w, const struct slot *s)
{
	str_put_svarint(w->out, s->start);
	put_moments(w, &s->total);
	str_put_varint(w->out, s->cells.n);
	for (size_t i = 0; i < s->cells.n; i++) {
		str_put_varint(w->out, s->cells.v[i].vertex);
		str_put_varint(w->out, s->cells.v[i].calls);
		put_wide(w, s->cells.v[i].path);
		put_wide(w, s->cells.v[i].self);
	}
}

static void put_exemplar(struct writer *w, const struct exemplar *e)
{
	const char *id = SPAN_TRACE_ID(w->names, e->high, e->low);

	str_put_blob(w->out, id, strlen(id));
	str_put_svarint(w->out, e->start);
	str_put_svarint(w->out, e->duration);
	str_put_varint(w->out, e->n_spans);
	str_put_varint(w->out, e->spans.n);
	VEC_EACH(s, e->spans) {
		str_put_varint(w->out, s->vertex);
		str_put_varint(w->out, s->parent + 1);
		put_text(w, s->host);
		put_text(w, s->process);
		str_put_svarint(w->out, s->start);
		str_put_svarint(w->out, s->end);
		str_put_svarint(w->out, s->path);
		str_put_varint(w->out, s->error);
		put_text(w, s->link);
		if (s->link)
			str_put_varint(w->out, s->links);
	}
}

static void put_request(struct writer *w, const struct sampled_request *r)
{
	const char *id = SPAN_TRACE_ID(w->names, r->high, r->low);

	str_put_blob(w->out, id, strlen(id));
	str_put_svarint(w->out, r->start);
	str_put_svarint(w->out, r->duration);
	str_put_varint(w->out, r->weight);
	str_put_varint(w->out, r->error);
	put_set(w, r->set);
	str_put_varint(w->out, r->marks.n);
	for (size_t i = 0; i < r->marks.n; i++) {
		put_text(w, r->marks.v[i].call);
		put_text(w, r->marks.v[i].key);
		put_text(w, r->marks.v[i].value);
		str_put_svarint(w->out, r->marks.v[i].path);
	}
}

static void put_group(struct writer *w, const struct forest_group *g)
{
	put_set(w, g->versions);
	str_put_svarint(w->out, g->first_seen);
	str_put_svarint(w->out, g->last_seen);
	put_moments(w, &g->total);
	str_put_varint(w->out, g->errors);
	str_put_svarint(w->out, g->slot_width);
	sketch_write(g->sketch, w->out);
	str_put_varint(w->out, g->cells.n);
	for (size_t i = 0; i < g->cells.n; i++)
		put_cell(w, &g->cells.v[i]);
	str_put_varint(w->out, g->slots.n);
	for (size_t i = 0; i < g->slots.n; i++)
		put_slot(w, &g->slots.v[i]);
	str_put_varint(w->out, g->leaves.n);
	for (size_t i = 0; i < g->leaves.n; i++) {
		put_set(w, g->leaves.v[i].set);
		put_moments(w, &g->leaves.v[i].total);
	}
	str_put_varint(w->out, g->sample.n);
	for (size_t i = 0; i < g->sample.n; i++)
		put_exemplar(w, &g->sample.v[i]);
	str_put_varint(w->out, g->slowest.n);
	for (size_t i = 0; i < g->slowest.n; i++)
		put_exemplar(w, &g->slowest.v[i]);
	str_put_varint(w->out, g->requests.n);
	for (size_t i = 0; i < g->requests.n; i++)
		put_request(w, &g->requests.v[i]);
}

static void put_head(struct writer *w, const struct forest *f)
{
	const uint64_t *tally = (const uint64_t *)&f->tally;

	str_append(w->out, MAGIC, strlen(MAGIC));
	str_put_varint(w->out, VERSION);
	str_put_blob(w->out, f->rule ? f->rule : "", f->rule ? strlen(f->rule) : 0);
	str_put_svarint(w->out, f->slot_width);
	str_put_varint(w->out, f->n_dimensions);
	for (uint32_t i = 0; i < f->n_dimensions; i++)
		put_text(w, f->dimensions[i]);
	str_put_varint(w->out, sizeof(f->tally) / sizeof(uint64_t));
	for (size_t i = 0; i < sizeof(f->tally) / sizeof(uint64_t); i++)
		str_put_varint(w->out, tally[i]);
	str_put_varint(w->out, f->thinned);
}

static void put_vertices(struct writer *w, const struct forest *f)
{
	str_put_varint(w->out, f->vertices.n);
	VEC_EACH(v, f->vertices) {
		str_put_varint(w->out, v->parent + 1);
		str_put_varint(w->out, v->kind);
		put_text(w, v->caller);
		put_text(w, v->service);
		put_text(w, v->operation);
	}
}

int forest_write(const struct forest *f, struct str *out)
{
	struct writer w = {.names = f->names, .out = out};

	put_head(&w, f);
	put_vertices(&w, f);
	str_put_varint(out, f->buckets.n);
	VEC_EACH(b, f->buckets) {
		for (uint32_t d = 0; d < f->n_dimensions; d++)
			put_text(&w, b->values[d]);
		put_text(&w, b->entry);
		str_put_varint(out, b->groups.n);
		for (size_t j = 0; j < b->groups.n; j++)
			put_group(&w, &b->groups.v[j]);
	}
	str_put_varint(out, f->places.n);
	for (size_t i = 0; i < f->places.n; i++) {
		str_put_varint(out, f->places.v[i].bucket);
		str_put_varint(out, f->places.v[i].vertex);
		put_text(&w, f->places.v[i].host);
		put_moments(&w, &f->places.v[i].path);
	}
	hmap_free(&w.seen);
	return out->error;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct parser {
	struct reader in;
	struct forest f;
	VEC(uint32_t) texts;
	int error; /* -ENOMEM */
	uint64_t version;
};

static uint32_t get_text(struct parser *p)
{
	uint64_t number = reader_varint(&p->in);
	const char *text;
	uint32_t id;
	size_t n;

	if (number == 0)
		return 0;
	if (number > 1) {
		p->in.bad |= number - 2 >= p->texts.n;
		return p->in.bad ? 0 : p->texts.v[number - 2];
	}
	text = str_read_blob(&p->in, &n);
	if (!text || !n || memchr(text, '\0', n)) {
		p->in.bad = true;
		return 0;
	}
	id = names_text(p->f.names, text, n);
	if (!id || VEC_PUSH(p->texts, id) < 0)
		p->error = -ENOMEM;
	return id;
}

static wide get_wide(struct parser *p)
{
	wide low = reader_varint(&p->in);

	return low | (wide)reader_varint(&p->in) << 64;
}

static void get_moments(struct parser *p, struct moments *m)
{
	*m = (struct moments){.samples = reader_varint(&p->in)};
	if (!m->samples)
		return;
	m->count = reader_varint(&p->in);
	m->sum = get_wide(p);
	m->square_low = get_wide(p);
	m->square_high = reader_varint(&p->in);
	m->weight_square = get_wide(p);
}

/* A list's length: what is longer than the bytes that are left is damage. */
static size_t get_count(struct parser *p)
{
	uint64_t n = reader_varint(&p->in);

	if (n > LIST_MAX || n > (uint64_t)(p->in.end - p->in.at))
		p->in.bad = true;
	return p->in.bad ? 0 : (size_t)n;
}

static uint32_t get_vertex(struct parser *p)
{
	uint64_t v = reader_varint(&p->in);

	p->in.bad |= v >= p->f.vertices.n;
	return p->in.bad ? 0 : (uint32_t)v;
}

static uint32_t get_set(struct parser *p)
{
	uint32_t service = get_text(p), set;
	size_t n = get_count(p);
	_cleanup_free_ struct attribute *v = calloc(n + 1, sizeof(*v));

	if (!v) {
		p->error = -ENOMEM;
		return 0;
	}
	for (size_t i = 0; i < n && !p->in.bad; i++) {
		v[i].key = get_text(p);
		v[i].value = get_text(p);
	}
	set = p->in.bad ? 0 : names_set(p->f.names, service, v, n);
	return set;
}

static void get_sketch(struct parser *p, struct sketch **s)
{
	struct sketch *read;
	int r = p->in.bad ? -EBADMSG : sketch_read(&p->in, &read);

	if (r == -EBADMSG)
		p->in.bad = true;
	else if (r < 0)
		p->error = r;
	if (r < 0)
		return;
	sketch_free(*s);
	*s = read;
}

/* The old version has only the sum: the calls' whole durations tell how much it varies at most. */
static void get_self(struct parser *p, struct cell *c)
{
	if (p->version != OLD_VERSION) {
		get_moments(p, &c->self);
		return;
	}
	c->self = c->duration;
	c->self.sum = get_wide(p);
}

static void get_cell(struct parser *p, struct forest_group *g)
{
	uint32_t vertex = get_vertex(p);
	struct cell *c = p->in.bad ? NULL : forest_cell(g, vertex);

	if (!c) {
		p->error = p->in.bad ? p->error : -ENOMEM;
		p->in.bad = true;
		return;
	}
	get_moments(p, &c->duration);
	get_moments(p, &c->path);
	get_self(p, c);
	c->called = get_wide(p);
	c->busy = get_wide(p);
	c->drag = get_wide(p);
	c->slack = get_wide(p);
	c->wall = get_wide(p);
	c->parents = reader_varint(&p->in);
	c->errors = reader_varint(&p->in);
	c->retries = reader_varint(&p->in);
	c->asynchronous = reader_varint(&p->in);
	get_sketch(p, &c->sketch);
}

static void get_slot(struct parser *p, struct forest_group *g)
{
	struct slot s = {.start = reader_svarint(&p->in)};
	size_t n;

	get_moments(p, &s.total);
	n = get_count(p);
	for (size_t i = 0; i < n && !p->in.bad; i++) {
		struct slot_cell cell = {.vertex = get_vertex(p)};

		cell.calls = reader_varint(&p->in);
		cell.path = get_wide(p);
		cell.self = p->version == OLD_VERSION ? cell.path : get_wide(p);
		if (forest_slot_add(&s, &cell, cell.vertex, i) < 0)
			p->error = -ENOMEM;
	}
	if (VEC_PUSH(g->slots, s) < 0) {
		VEC_FREE(s.cells);
		p->error = -ENOMEM;
	}
}

static void get_exemplar(struct parser *p, struct forest_group *g,
			 int (*keep)(struct forest_group *, struct exemplar *))
{
	struct exemplar e = {};
	size_t n, length;
	const char *id = str_read_blob(&p->in, &length);

	if (id)
		span_trace_id_of_text(p->f.names, id, length, &e.high, &e.low);
	e.start = reader_svarint(&p->in);
	e.duration = reader_svarint(&p->in);
	e.n_spans = (uint32_t)reader_varint(&p->in);
	n = get_count(p);
	for (size_t i = 0; i < n && !p->in.bad; i++) {
		struct exemplar_span s = {.vertex = get_vertex(p)};

		s.parent = (uint32_t)reader_varint(&p->in) - 1;
		p->in.bad |= s.parent != NO_SPAN && s.parent >= i;
		s.host = get_text(p);
		s.process = p->version > NO_PROCESSES ? get_text(p) : 0;
		s.start = reader_svarint(&p->in);
		s.end = reader_svarint(&p->in);
		s.path = reader_svarint(&p->in);
		s.error = reader_varint(&p->in);
		s.link = p->version > NO_LINKS ? get_text(p) : 0;
		s.links = s.link ? (uint32_t)reader_varint(&p->in) : 0;
		if (VEC_PUSH(e.spans, s) < 0)
			p->error = -ENOMEM;
	}
	if (p->in.bad)
		VEC_FREE(e.spans);
	else if (keep(g, &e) < 0)
		p->error = -ENOMEM;
}

static void get_request(struct parser *p, struct forest_group *g)
{
	struct sampled_request r = {};
	size_t n, length;
	const char *id = str_read_blob(&p->in, &length);

	if (id)
		span_trace_id_of_text(p->f.names, id, length, &r.high, &r.low);
	r.start = reader_svarint(&p->in);
	r.duration = reader_svarint(&p->in);
	r.weight = reader_varint(&p->in);
	r.error = reader_varint(&p->in);
	r.set = get_set(p);
	n = get_count(p);
	p->in.bad |= n > FOREST_MARKS_MAX;
	for (size_t i = 0; i < n && !p->in.bad; i++) {
		struct request_mark m = {.call = get_text(p)};

		m.key = get_text(p);
		m.value = get_text(p);
		m.path = reader_svarint(&p->in);
		if (VEC_PUSH(r.marks, m) < 0)
			p->error = -ENOMEM;
	}
	if (p->in.bad || p->error)
		VEC_FREE(r.marks);
	else if (forest_keep_request(&p->f, g, &r) < 0)
		p->error = -ENOMEM;
}

static void get_group(struct parser *p, struct bucket *b)
{
	uint32_t versions = get_set(p);
	struct forest_group *g = p->in.bad ? NULL : forest_group(&p->f, b, versions);
	size_t n;

	if (!g) {
		p->error = p->in.bad ? p->error : -ENOMEM;
		p->in.bad = true;
		return;
	}
	g->first_seen = reader_svarint(&p->in);
	g->last_seen = reader_svarint(&p->in);
	get_moments(p, &g->total);
	g->errors = reader_varint(&p->in);
	g->slot_width = reader_svarint(&p->in);
	p->in.bad |= g->slot_width <= 0;
	get_sketch(p, &g->sketch);
	n = get_count(p);
	for (size_t i = 0; i < n && !p->in.bad && !p->error; i++)
		get_cell(p, g);
	n = get_count(p);
	for (size_t i = 0; i < n && !p->in.bad && !p->error; i++)
		get_slot(p, g);
	n = get_count(p);
	for (size_t i = 0; i < n && !p->in.bad && !p->error; i++) {
		struct leaf *leaf = forest_leaf(&p->f, g, get_set(p));

		if (!leaf)
			p->error = -ENOMEM;
		else
			get_moments(p, &leaf->total);
	}
	n = get_count(p);
	for (size_t i = 0; i < n && !p->in.bad && !p->error; i++)
		get_exemplar(p, g, forest_keep_sample);
	n = get_count(p);
	for (size_t i = 0; i < n && !p->in.bad && !p->error; i++)
		get_exemplar(p, g, forest_keep_slowest);
	n = p->version > NO_REQUESTS ? get_count(p) : 0;
	for (size_t i = 0; i < n && !p->in.bad && !p->error; i++)
		get_request(p, g);
}

static void get_head(struct parser *p)
{
	uint64_t *tally = (uint64_t *)&p->f.tally;
	size_t n;

	p->in.bad |= (size_t)(p->in.end - p->in.at) < strlen(MAGIC) || memcmp(p->in.at, MAGIC, strlen(MAGIC));
	if (p->in.bad)
		return;
	p->in.at += strlen(MAGIC);
	p->version = reader_varint(&p->in);
	p->in.bad |= p->version < OLD_VERSION || p->version > VERSION;
	p->f.rule = reader_printable(&p->in);
	p->f.slot_width = reader_svarint(&p->in);
	n = get_count(p);
	p->in.bad |= n > FOREST_DIMENSIONS || p->f.slot_width <= 0;
	p->f.n_dimensions = p->in.bad ? 0 : (uint32_t)n;
	for (uint32_t i = 0; i < p->f.n_dimensions; i++)
		p->f.dimensions[i] = get_text(p);
	n = get_count(p);
	p->in.bad |= n != sizeof(p->f.tally) / sizeof(uint64_t);
	for (size_t i = 0; i < n && !p->in.bad; i++)
		tally[i] = reader_varint(&p->in);
	n = p->version > NO_REQUESTS ? reader_varint(&p->in) : 0;
	p->in.bad |= n > FOREST_THINNED_MAX;
	p->f.thinned = p->in.bad ? 0 : (uint32_t)n;
}

static void get_vertices(struct parser *p)
{
	size_t n = get_count(p);

	for (size_t i = 0; i < n && !p->in.bad && !p->error; i++) {
		uint32_t parent = (uint32_t)reader_varint(&p->in) - 1, caller, service;
		uint64_t kind = reader_varint(&p->in);

		caller = get_text(p);
		service = get_text(p);
		p->in.bad |= kind > VERTEX_EDGE || (parent != NO_VERTEX && parent >= i);
		if (!p->in.bad &&
		    forest_vertex(&p->f, parent, (enum vertex_kind)kind, caller, service, get_text(p)) != i)
			p->in.bad = true;
	}
}

static void get_body(struct parser *p)
{
	size_t n;

	get_head(p);
	get_vertices(p);
	n = get_count(p);
	for (size_t i = 0; i < n && !p->in.bad && !p->error; i++) {
		uint32_t values[FOREST_DIMENSIONS] = {}, entry;
		struct bucket *b;
		size_t groups;

		for (uint32_t d = 0; d < p->f.n_dimensions; d++)
			values[d] = get_text(p);
		entry = get_text(p);
		groups = get_count(p);
		b = forest_bucket(&p->f, values, entry);
		if (!b)
			p->error = -ENOMEM;
		for (size_t j = 0; j < groups && !p->in.bad && !p->error; j++)
			get_group(p, b);
	}
	n = get_count(p);
	for (size_t i = 0; i < n && !p->in.bad && !p->error; i++) {
		uint64_t bucket = reader_varint(&p->in);
		uint32_t vertex = get_vertex(p);
		struct forest_place *place;

		p->in.bad |= bucket >= p->f.buckets.n;
		place = p->in.bad ? NULL : forest_place(&p->f, (uint32_t)bucket, vertex, get_text(p));
		if (!place)
			p->in.bad = true;
		else
			get_moments(p, &place->path);
	}
}

int forest_read(struct forest *f, const void *bytes, size_t n)
{
	struct parser p = {.in = {bytes, (const uint8_t *)bytes + n, false}};
	int r = forest_init(&p.f, f->names, f->slot_width);

	if (r == 0)
		get_body(&p);
	r = r < 0 ? r : p.error ? p.error : p.in.bad || p.in.at != p.in.end ? -EBADMSG : 0;
	r = r ?: forest_merge(f, &p.f);
	forest_free(&p.f);
	VEC_FREE(p.texts);
	return r;
}
