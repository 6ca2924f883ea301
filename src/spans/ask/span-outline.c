#include "spans/ask/span-outline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void span_outline_free(struct span_outline *o)
{
	free(o->order);
	free(o->row);
	free(o->depth);
}

static int by_start(const void *a, const void *b, void *spans)
{
	const struct exemplar_span *x = (const struct exemplar_span *)spans + *(const uint32_t *)a;
	const struct exemplar_span *y = (const struct exemplar_span *)spans + *(const uint32_t *)b;

	return x->start != y->start ? (x->start < y->start ? -1 : 1) : x < y ? -1 : x > y;
}

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

int span_outline_make(const struct span_outline *request, struct span_outline *ret)
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
