#include "spans/compare/span-select.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/data/str.h"
#include "spans/compare/span-example.h"
#include "spans/compare/span-kinds.h"

#define COVERS_LEAST 0.1 /* of the selected: a kind with fewer says little about them */
#define CALL_LEAST   0.01 /* of the selected requests' mean: smaller differences of calls are left out */

void span_map_free(struct span_map *m)
{
	FREE_ALL(m->counts, m->failed);
	*m = (struct span_map){};
}

void span_differences_free(struct span_differences *d)
{
	VEC_FREE_EACH(d->list, free(each->where); span_examples_free(each->traces, each->n_traces));
	VEC_FREE(d->calls);
	VEC_FREE_EACH(d->looked_at, free(*each));
}

static bool is_selected(const struct span_selection *s, const struct sampled_request *r)
{
	return (!s->from || r->start >= s->from) && (!s->to || r->start < s->to) && (!s->low || r->duration >= s->low) &&
	       (!s->high || r->duration < s->high) && (!s->failed || r->error);
}

typedef int (*visit_fn)(void *context, const struct bucket *b, const struct sampled_request *r);

static int each_request(const struct forest *f, const struct span_selection *s, visit_fn visit, void *context)
{
	int r = 0;

	VEC_EACH(b, f->buckets)
		for (size_t j = 0; bucket_is_chosen(&s->choice, f, b) && j < b->groups.n; j++)
			for (size_t k = 0; r == 0 && k < b->groups.v[j].requests.n; k++)
				r = visit(context, b, &b->groups.v[j].requests.v[k]);
	return r;
}

/* --- the map ------------------------------------------------------------------------------------------------------------ */

struct extent {
	int64_t first, last, shortest, longest;
	size_t n;
};

static int extend(void *context, const struct bucket *b, const struct sampled_request *r)
{
	struct extent *e = context;

	(void)b;
	e->first = r->start < e->first ? r->start : e->first;
	e->last = r->start > e->last ? r->start : e->last;
	e->shortest = r->duration < e->shortest ? r->duration : e->shortest;
	e->longest = r->duration > e->longest ? r->duration : e->longest;
	e->n++;
	return 0;
}

struct mapping {
	const struct forest *f;
	struct span_map *m;
};

static int map_request(void *context, const struct bucket *b, const struct sampled_request *r)
{
	struct mapping *to = context;
	struct span_map *m = to->m;
	double place = log((double)(r->duration > 0 ? r->duration : 1) / m->low) / log(m->factor);
	size_t row = place > 0 ? (size_t)place : 0, column = (size_t)((r->start - m->from) / m->step);
	size_t at = (row < m->rows ? row : m->rows - 1) * m->columns + (column < m->columns ? column : m->columns - 1);

	(void)b;
	m->counts[at] += forest_request_weight(to->f, r);
	m->failed[at] += r->error ? forest_request_weight(to->f, r) : 0;
	return 0;
}

/* As many columns and rows as the requests fill: a cell of a few is noise, not a picture. */
static void divide(const struct extent *e, struct span_map *m)
{
	size_t most = (size_t)sqrt((double)e->n * 2) + 4;
	double low = (double)(e->shortest > 0 ? e->shortest : 1), high = (double)e->longest * 1.0001 + 1;

	m->columns = most < SELECT_COLUMNS ? most : SELECT_COLUMNS;
	m->rows = most < SELECT_ROWS ? most : SELECT_ROWS;
	m->from = e->first;
	m->step = (e->last - e->first) / (int64_t)m->columns + 1;
	m->low = low;
	m->factor = fmax(pow(high / low, 1 / (double)m->rows), 1.001);
}

int span_map_make(const struct forest *f, const struct span_selection *s, struct span_map *ret)
{
	struct extent e = {INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 0};
	struct mapping to = {f, ret};

	*ret = (struct span_map){};
	each_request(f, s, extend, &e);
	if (!e.n)
		return 0;
	divide(&e, ret);
	ret->counts = calloc(ret->columns * ret->rows, sizeof(*ret->counts));
	ret->failed = calloc(ret->columns * ret->rows, sizeof(*ret->failed));
	if (!ret->counts || !ret->failed) {
		span_map_free(ret);
		return -ENOMEM;
	}
	return each_request(f, s, map_request, &to);
}

/* --- kinds of requests -------------------------------------------------------------------------------------------------- */

static int side_of_selected(const void *state, const struct bucket *b, const struct forest_group *g, const struct sampled_request *r)
{
	const struct span_selection *s = state;

	(void)g;
	return bucket_is_chosen(&s->choice, s->f, b) ? is_selected(s, r) : -1;
}

struct counts {
	double *observed, *expected, *exposure;
};

static void counts_free(struct counts *c)
{
	FREE_ALL(c->observed, c->expected, c->exposure);
}

/* Counts of each kind: selected, all, and selected if the selection did not care. */
static int count_kinds(const struct kind_table *t, struct counts *c)
{
	double all[2] = {};

	c->observed = calloc(t->n + 1, sizeof(double));
	c->expected = calloc(t->n + 1, sizeof(double));
	c->exposure = calloc(t->n + 1, sizeof(double));
	if (!c->observed || !c->expected || !c->exposure)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		for (int side = 0; side < 2; side++)
			all[side] += moments_effective(&t->v[i].side[side]);
	for (size_t i = 0; i < t->n; i++) {
		c->observed[i] = moments_effective(&t->v[i].side[1]);
		c->exposure[i] = c->observed[i] + moments_effective(&t->v[i].side[0]);
		c->expected[i] = c->exposure[i] * all[1] / (all[0] + all[1]);
	}
	return 0;
}

static bool has_values(const struct kind_table *t, const struct element *e, size_t kind)
{
	return !ANY_WHERE(k, t->n_looked, e->value[k] != ATTRIBUTE_ANY && e->value[k] != t->codes[kind * t->n_looked + k]);
}

static void measure(const struct kind_table *t, const struct element *e, double stands_for, struct span_difference *d)
{
	double count[2][2] = {}; /* of this kind or not, selected or not */

	for (size_t i = 0; i < t->n; i++)
		for (int side = 0; side < 2; side++)
			count[has_values(t, e, i)][side] += moments_count(&t->v[i].side[side]);
	d->requests = (count[1][0] + count[1][1]) * stands_for;
	d->selected = count[1][1] / fmax(count[1][0] + count[1][1], 1e-9);
	d->others = count[0][1] / fmax(count[0][0] + count[0][1], 1e-9);
	d->covers = count[1][1] / fmax(count[0][1] + count[1][1], 1e-9);
}

/* "region = eu and goes through db query = yes" */
static char *describe(const struct kind_table *t, const struct element *e)
{
	_cleanup_str_ struct str where = {};

	for (size_t k = 0; k < t->n_looked; k++) {
		uint32_t text = e->value[k] == ATTRIBUTE_ANY ? 0 : t->texts[k][e->value[k]], key = t->keys[t->looked[k]];

		if (e->value[k] == ATTRIBUTE_ANY)
			continue;
		str_puts(&where, where.len ? " and " : "");
		if (!text && kind_is_of_call(t, key))
			str_printf(&where, "not %s", names_get(t->f->names, key));
		else
			str_printf(&where, "%s = %s", names_get(t->f->names, key), text ? names_get(t->f->names, text) : "(none)");
	}
	return where.error ? NULL : TAKE(where.data);
}

static int add_difference(const struct kind_table *t, const struct element *e, double stands_for, struct span_differences *ret)
{
	struct span_difference d = {.where = describe(t, e)};

	if (!d.where)
		return -ENOMEM;
	measure(t, e, stands_for, &d);
	if (d.covers >= COVERS_LEAST && d.selected > d.others && VEC_PUSH(ret->list, d) == 0)
		return 0;
	free(d.where);
	return d.covers >= COVERS_LEAST && d.selected > d.others ? -ENOMEM : 0;
}

struct linking {
	struct kind_table kinds;
	const struct span_selection *s;
	struct attribute terms[ATTRIBUTES_MAX];
	size_t n_terms;
};

static bool shows_difference(void *state, const struct bucket *b, const struct forest_group *g, const struct sampled_request *r)
{
	struct linking *l = state;

	(void)g;
	return bucket_is_chosen(&l->s->choice, l->kinds.f, b) && is_selected(l->s, r) && kind_agrees(&l->kinds, b, r, l->terms, l->n_terms);
}

/* Selected requests of a kind. */
static int link_traces(const struct kind_table *t, const struct span_selection *s, const struct element *e, struct span_difference *d)
{
	struct linking l = {.kinds = {.f = t->f}, .s = s};
	int r;

	for (size_t k = 0; k < t->n_looked; k++)
		if (e->value[k] != ATTRIBUTE_ANY)
			l.terms[l.n_terms++] = (struct attribute){t->keys[t->looked[k]], t->texts[k][e->value[k]]};
	r = span_examples_find(t->f, shows_difference, &l, d->traces, &d->n_traces);
	kind_table_free(&l.kinds);
	return r;
}

static int search(const struct kind_table *t, const struct span_selection *s, struct span_differences *ret)
{
	_cleanup_(counts_free) struct counts c = {};
	struct leaf_table leaves = {.n = t->n, .attributes = (unsigned)t->n_looked, .codes = t->codes, .counts = true, .quiet = {0, 1, 0}}; /* by chance a selection varies as counts do, and by nothing else */
	struct attribute_options o = {.direction = CHANGE_UP};
	_cleanup_(attribute_findings_free) struct attribute_findings found = {};
	int r = count_kinds(t, &c);

	leaves.observed = c.observed;
	leaves.expected = c.expected;
	leaves.exposure = c.exposure;
	r = r ?: attributes_search(&leaves, &o, &found);
	for (size_t i = 0; r == 0 && i < found.elements.n; i++) {
		size_t n = ret->list.n;

		r = add_difference(t, &found.elements.v[i], (double)((uint64_t)1 << t->f->thinned), ret);
		if (r == 0 && ret->list.n > n)
			r = link_traces(t, s, &found.elements.v[i], &ret->list.v[n]);
	}
	return r == -EINVAL ? 0 : r;
}

static int find_kinds(const struct forest *f, const struct span_selection *s, struct span_differences *ret)
{
	const struct kind_query query = {.side = side_of_selected, .state = s, .shares = true};
	_cleanup_(span_causes_free) struct span_causes looked = {};
	struct kind_table t;
	int r = kind_table_fill(f, &query, &t, &looked);

	if (r == 0 && t.n_looked)
		r = search(&t, s, ret);
	for (size_t i = 0; r == 0 && i < looked.looked_at.n; i++) {
		r = VEC_PUSH(ret->looked_at, looked.looked_at.v[i]);
		looked.looked_at.v[i] = r == 0 ? NULL : looked.looked_at.v[i];
	}
	kind_table_free(&t);
	return r;
}

/* --- calls -------------------------------------------------------------------------------------------------------------- */

struct adding {
	const struct forest *f;
	const struct span_selection *s;
	struct span_differences *d;
	struct hmap place_of; /* call -> place + 1 */
	double time[2];
};

static struct span_call_difference *call_of(struct adding *a, uint32_t call)
{
	uintptr_t place = (uintptr_t)hmap_get(&a->place_of, call, 0);

	if (place)
		return &a->d->calls.v[place - 1];
	if (VEC_PUSH(a->d->calls, (struct span_call_difference){.call = call}) < 0 ||
	    hmap_put(&a->place_of, call, 0, (void *)(uintptr_t)a->d->calls.n) < 0)
		return NULL;
	return &a->d->calls.v[a->d->calls.n - 1];
}

static int add_request(void *context, const struct bucket *b, const struct sampled_request *r)
{
	struct adding *a = context;
	double weight = forest_request_weight(a->f, r), rest = (double)r->duration;
	bool selected = is_selected(a->s, r);

	a->d->sampled++;
	a->d->n_selected += selected;
	a->d->requests[selected] += weight;
	a->time[selected] += weight * (double)r->duration;
	for (size_t i = 0; i <= r->marks.n; i++) { /* the request itself last: what its calls left of it */
		const struct request_mark *m = i < r->marks.n ? &r->marks.v[i] : NULL;
		struct span_call_difference *call = m && m->key ? NULL : call_of(a, m ? m->call : b->entry);
		double path = m ? (double)m->path : rest;

		if (m && m->key)
			continue;
		if (!call)
			return -ENOMEM;
		rest -= m ? path : 0;
		*(selected ? &call->selected : &call->others) += weight * path;
		call->through[selected] += weight;
	}
	return 0;
}

ORDER(by_more_time, struct span_call_difference, CMP(b->selected - b->others, a->selected - a->others) ?: ASCENDING(call))

static void finish_calls(struct span_differences *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->calls.n; i++) {
		struct span_call_difference c = d->calls.v[i];

		c.selected /= fmax(d->requests[1], 1e-9);
		c.others /= fmax(d->requests[0], 1e-9);
		c.through[0] = fmin(1, c.through[0] / fmax(d->requests[0], 1e-9));
		c.through[1] = fmin(1, c.through[1] / fmax(d->requests[1], 1e-9));
		if (fabs(c.selected - c.others) >= CALL_LEAST * d->mean[1])
			d->calls.v[kept++] = c;
	}
	d->calls.n = kept;
	if (kept)
		qsort(d->calls.v, kept, sizeof(*d->calls.v), by_more_time);
	d->calls.n = kept < SELECT_CALLS ? kept : SELECT_CALLS;
}

int span_select(const struct forest *f, const struct span_selection *selection, struct span_differences *ret)
{
	struct span_selection s = *selection;
	struct adding a = {.f = f, .s = &s, .d = ret};
	int r;

	*ret = (struct span_differences){};
	s.f = f;
	r = each_request(f, &s, add_request, &a);
	hmap_free(&a.place_of);
	for (int side = 0; side < 2; side++)
		ret->mean[side] = ret->requests[side] > 0 ? a.time[side] / ret->requests[side] : NAN;
	if (r == 0 && ret->n_selected && ret->n_selected < ret->sampled) {
		finish_calls(ret);
		r = find_kinds(f, &s, ret);
	} else {
		ret->calls.n = 0;
	}
	if (r < 0)
		span_differences_free(ret);
	return r;
}
