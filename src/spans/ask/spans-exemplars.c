/* whyslow spans exemplars: requests that were kept whole, span by span: the slowest of each version, and some by chance; or one or two of them by their
 * ids, and where the times of two differ. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/log.h"
#include "lib/data/order.h"
#include "spans/ask/spans.h"
#include "spans/model/span-answer.h"

static void span_outline_free(struct span_outline *o)
{
	FREE_ALL(o->order, o->row, o->depth);
}

ORDER_IN(by_start, uint32_t, struct exemplar_span, CMP(context[*a].start, context[*b].start) ?: CMP(*a, *b))

/* Insertion behind the parent's last descendant: exemplars are at most a few hundred spans. */
static void place(struct span_outline *o, const struct exemplar *e, uint32_t span)
{
	uint32_t parent = e->spans.v[span].parent, at = 0;

	if (parent < e->spans.n) {
		o->depth[span] = o->depth[parent] + 1;
		while (o->order[at] != parent)
			at++;
		do
			at++;
		while (at < o->n && o->depth[o->order[at]] > o->depth[parent]);
	} else {
		at = o->n;
	}
	memmove(o->order + at + 1, o->order + at, (o->n - at) * sizeof(*o->order));
	o->order[at] = span;
	o->n++;
}

/* request: its lent fields. 0 or -ENOMEM. */
static int span_outline_make(const struct span_outline *request, struct span_outline *ret)
{
	const struct exemplar *e = request->request;
	struct span_outline o = *request;
	uint32_t *sorted = calloc(e->spans.n + 1, sizeof(*sorted)), n = (uint32_t)e->spans.n;
	bool *placed = calloc(e->spans.n + 1, sizeof(*placed));

	o.order = calloc(e->spans.n + 1, sizeof(*o.order));
	o.row = calloc(e->spans.n + 1, sizeof(*o.row));
	o.depth = calloc(e->spans.n + 1, sizeof(*o.depth));
	o.n = 0;
	if (!o.order || !o.row || !o.depth || !sorted || !placed) {
		span_outline_free(&o);
		FREE_ALL(sorted, placed);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = i;
	qsort_r(sorted, n, sizeof(*sorted), by_start, e->spans.v);
	for (bool more = true; more;) { /* a child that began with its parent may be sorted before it */
		more = false;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t parent = e->spans.v[sorted[i]].parent;

			if (placed[sorted[i]] || (parent < n && !placed[parent]))
				continue;
			place(&o, e, sorted[i]);
			placed[sorted[i]] = more = true;
		}
	}
	for (uint32_t i = 0; i < o.n; i++)
		o.row[o.order[i]] = i;
	FREE_ALL(sorted, placed);
	*ret = o;
	return 0;
}

/* A question, and its answer so far. */
struct asking {
	const struct spans_query *q;
	struct span_trace_ids ids; /* none = all */
	const struct exemplar *found[2]; /* of those */
	json_t *list; /* NULL = text */
	size_t told;
};

static void tell(struct asking *a, const struct span_outline *request)
{
	struct span_outline outline;

	if (span_outline_make(request, &outline) < 0)
		return;
	if (a->list)
		json_array_append_new(a->list, span_outline_json(&outline));
	else
		span_outline_text(&outline, stdout);
	span_outline_free(&outline);
	a->told++;
}

/* A request that was asked for by its id is shown once, though it may be in two lists. */
static bool is_asked(struct asking *a, const struct exemplar *e)
{
	int which = span_trace_ids_find(&a->ids, e->high, e->low);

	if (!a->ids.n)
		return true;
	if (which < 0 || a->found[which])
		return false;
	a->found[which] = e;
	return true;
}

/* The slowest of a group, or its sample. */
static void tell_list(struct asking *a, struct span_outline outline, const struct exemplar *v, size_t n)
{
	size_t most = a->ids.n ? n : a->q->exemplars;

	for (size_t i = 0; i < n && i < most; i++) {
		if (!is_asked(a, &v[i]))
			continue;
		outline.request = &v[i];
		tell(a, &outline);
	}
}

static void tell_bucket(struct asking *a, const struct forest *f, const struct bucket *b)
{
	for (size_t k = 0; k < b->groups.n; k++) {
		const struct forest_group *g = &b->groups.v[k];
		struct span_outline outline = {.forest = f, .bucket = b, .group = g, .slowest = true};

		tell_list(a, outline, g->slowest.v, g->slowest.n);
		outline.slowest = false;
		tell_list(a, outline, g->sample.v, g->sample.n);
	}
}

/* --- two of them --- */

static int by_difference(const void *a, const void *b)
{
	const struct span_two_calls *x = a, *y = b;
	int64_t dx = llabs(x->path[1] - x->path[0]), dy = llabs(y->path[1] - y->path[0]);

	return dx != dy ? (dx > dy ? -1 : 1) : x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

/* Each call path that either of two requests has once, the one first in which their time differs most. */
static int find_differences(const struct forest *f, const struct exemplar *const of[2], struct span_two_requests *ret)
{
	_cleanup_free_ bool *seen = calloc(f->vertices.n + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < of[0]->spans.n + of[1]->spans.n; i++) {
		size_t n = of[0]->spans.n;
		struct span_two_calls d = {.vertex = i < n ? of[0]->spans.v[i].vertex : of[1]->spans.v[i - n].vertex};

		if (seen[d.vertex])
			continue;
		seen[d.vertex] = true;
		for (int k = 0; k < 2; k++)
			d.path[k] = exemplar_path(of[k], d.vertex, &d.calls[k]);
		if (VEC_PUSH(ret->list, d) < 0)
			return -ENOMEM;
	}
	qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), by_difference);
	return 0;
}

static int tell_differences(struct asking *a, const struct forest *f, json_t *document)
{
	struct span_two_requests d = {.forest = f, .of = {a->found[0], a->found[1]}};
	int r = find_differences(f, a->found, &d);

	if (r == 0 && document)
		json_object_set_new(document, "differences", span_two_requests_json(&d));
	else if (r == 0)
		span_two_requests_text(&d, a->q->top, stdout);
	VEC_FREE(d.list);
	return r;
}

/* Those that were asked for by their ids and are not there are named. */
static bool has_all(const struct asking *a, const struct forest *f)
{
	char id[33];
	bool all = true;

	for (int i = 0; i < a->ids.n; i++) {
		if (a->found[i])
			continue;
		all = false;
		log_error("request %s is not stored whole; 'whyslow spans exemplars' lists those that are", span_trace_id_text(f->names, a->ids.high[i], a->ids.low[i], id));
	}
	return all && a->told;
}

int spans_exemplars(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	struct asking a = {.q = q, .list = common->json ? json_array() : NULL};
	json_t *document;
	struct names *names;
	struct forest f;
	bool all;
	int r = spans_forest_of(common, q, (size_t)argc - 1, argv + 1, &names, &f);

	if (r < 0) {
		json_decref(a.list);
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	}
	if (q->input.trace)
		a.ids = span_trace_ids_of_text(names, q->input.trace);
	for (size_t i = 0; i < f.buckets.n; i++)
		if (bucket_is_chosen(&q->choice, &f, &f.buckets.v[i]))
			tell_bucket(&a, &f, &f.buckets.v[i]);
	all = has_all(&a, &f);
	document = a.list ? span_exemplars_json(&f, a.list) : NULL;
	if (all && a.ids.n == 2)
		r = tell_differences(&a, &f, document);
	if (document)
		spans_print_json(document, 0);
	forest_free(&f);
	names_free(names);
	return r < 0 ? EXIT_CANNOT : all ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}
