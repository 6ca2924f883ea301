/* whyslow spans exemplars: requests that were kept whole, span by span: the slowest of each version, and some by chance. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/order.h"
#include "spans/ask/spans.h"
#include "spans/model/span-answer.h"

static void span_outline_free(struct span_outline *o)
{
	free(o->order);
	free(o->row);
	free(o->depth);
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
		free(sorted);
		free(placed);
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
	free(sorted);
	free(placed);
	*ret = o;
	return 0;
}

static void tell(const struct span_outline *request, json_t *list)
{
	struct span_outline outline;

	if (span_outline_make(request, &outline) < 0)
		return;
	if (list)
		json_array_append_new(list, span_outline_json(&outline));
	else
		span_outline_text(&outline, stdout);
	span_outline_free(&outline);
}

static bool is_asked(const struct spans_query *q, const struct forest *f, const struct exemplar *e)
{
	uint64_t high, low;

	if (!q->input.trace)
		return true;
	span_trace_id_of_text(f->names, q->input.trace, strlen(q->input.trace), &high, &low);
	return e->high == high && e->low == low;
}

/* The slowest of a group or its sample: how many were shown. */
static size_t tell_list(const struct spans_query *q, struct span_outline outline, const struct exemplar *v, size_t n, json_t *list)
{
	size_t told = 0, most = q->input.trace ? n : q->exemplars;

	for (size_t i = 0; i < n && i < most; i++) {
		if (!is_asked(q, outline.forest, &v[i]))
			continue;
		outline.request = &v[i];
		tell(&outline, list);
		told++;
	}
	return told;
}

/* A single request is shown once, though it may be in both lists. */
static size_t tell_group(const struct spans_query *q, const struct forest *f, const struct bucket *b, const struct forest_group *g, json_t *list)
{
	size_t told = tell_list(q, (struct span_outline){.forest = f, .bucket = b, .group = g, .slowest = true}, g->slowest.v, g->slowest.n, list);

	if (q->input.trace && told)
		return told;
	return told + tell_list(q, (struct span_outline){.forest = f, .bucket = b, .group = g}, g->sample.v, g->sample.n, list);
}

int spans_exemplars(struct common *common, const struct spans_query *q, int argc, char **argv)
{
	size_t n = (size_t)argc - 1;
	char **files = argv + 1;
	json_t *list = common->json ? json_array() : NULL;
	struct names *names;
	struct forest f;
	size_t told = 0;
	int r = spans_forest_of(common, q, n, files, &names, &f);

	if (r < 0) {
		json_decref(list);
		return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	}
	for (size_t i = 0; i < f.buckets.n; i++)
		for (size_t k = 0; bucket_is_chosen(&q->choice, &f, &f.buckets.v[i]) && k < f.buckets.v[i].groups.n; k++)
			told += tell_group(q, &f, &f.buckets.v[i], &f.buckets.v[i].groups.v[k], list);
	if (list)
		spans_print_json(span_exemplars_json(&f, list), 0);
	forest_free(&f);
	names_free(names);
	return told ? EXIT_ANSWERED : EXIT_NOTHING_FOUND;
}
