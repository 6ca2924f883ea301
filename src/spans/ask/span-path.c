#include "spans/ask/span-path.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/stat/sketch.h"

static double p95_of(const struct cell *c)
{
	return sketch_quantile(c->sketch, .95);
}

static int by_path(const void *a, const void *b)
{
	const struct span_step *x = a, *y = b;

	return x->path > y->path ? -1 : x->path < y->path ? 1 : x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

static int find_steps(const struct forest_group *g, struct span_path *ret)
{
	ret->steps = calloc(g->cells.n + 1, sizeof(*ret->steps));
	if (!ret->steps)
		return -ENOMEM;
	ret->n = g->cells.n;
	for (size_t i = 0; i < g->cells.n; i++) {
		const struct cell *c = &g->cells.v[i];

		ret->steps[i] = (struct span_step){c->vertex, forest_group_each(g, c->path.sum), forest_group_each(g, c->drag), p95_of(c)};
	}
	qsort(ret->steps, ret->n, sizeof(*ret->steps), by_path);
	return 0;
}

/* The cell at which the longest path ends, each weighing its p95, and the path's length in sum[cell]; parents come before their children. */
static size_t longest_end(const struct forest *f, const struct forest_group *g, double *sum)
{
	size_t best = 0;

	for (size_t i = 0; i < g->cells.n; i++) {
		uint32_t parent = f->vertices.v[g->cells.v[i].vertex].parent;
		const struct cell *above = parent == NO_VERTEX ? NULL : forest_group_cell(g, parent);

		sum[i] = p95_of(&g->cells.v[i]) + (above ? sum[above - g->cells.v] : 0);
		if (sum[i] > sum[best])
			best = i;
	}
	return best;
}

/* SDiag literally: the longest path from the first event to a last one, a vertex weighing its p95. */
static int find_longest(const struct forest *f, const struct forest_group *g, struct span_path *ret)
{
	_cleanup_free_ double *sum = calloc(g->cells.n + 1, sizeof(*sum));
	size_t end, at;

	ret->steps = calloc(FOREST_DEPTH_MAX + 2, sizeof(*ret->steps));
	if (!sum || !ret->steps)
		return -ENOMEM;
	if (!g->cells.n)
		return 0;
	end = longest_end(f, g, sum);
	ret->length = sum[end];
	for (uint32_t v = g->cells.v[end].vertex; v != NO_VERTEX; v = f->vertices.v[v].parent)
		ret->n++;
	at = ret->n;
	for (uint32_t v = g->cells.v[end].vertex; v != NO_VERTEX; v = f->vertices.v[v].parent)
		ret->steps[--at] = (struct span_step){.vertex = v, .p95 = p95_of(forest_group_cell(g, v))};
	return 0;
}

int span_path_find(const struct forest *f, const struct forest_group *g, bool sdiag, struct span_path *ret)
{
	struct span_path p = {.sdiag = sdiag};
	int r = sdiag ? find_longest(f, g, &p) : find_steps(g, &p);

	if (r < 0)
		span_path_free(&p);
	else
		*ret = p;
	return r;
}

void span_path_free(struct span_path *p)
{
	free(p->steps);
}
