#include "spans/descent/descent.h"

#include <string.h>

#include "lib/data/cleanup.h"

#define NEARLY	    0.5 /* of the longest */
#define PLACE_LEAST 0.1 /* of the request: a call that took less is not asked about */

const struct exemplar *descent_choose(const struct forest_group *g, uint32_t vertex)
{
	const struct exemplar *best = NULL;
	const struct {
		const struct exemplar *v;
		size_t n;
	} lists[] = {{g->slowest.v, g->slowest.n}, {g->sample.v, g->sample.n}};
	int64_t most = 0;

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
		for (size_t i = 0; i < lists[k].n; i++)
			most = exemplar_path(&lists[k].v[i], vertex, NULL) > most ? exemplar_path(&lists[k].v[i], vertex, NULL) : most;
	for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
		VEC_EACH(e, lists[k])
			if (most && (double)exemplar_path(e, vertex, NULL) >= NEARLY * (double)most && (!best || e->start > best->start))
				best = e;
	return best;
}

static bool is_listed(const struct descent *d, const struct exemplar_span *span)
{
	return ANY_WHERE(i, d->places.n, d->places.v[i].span->host == span->host && d->places.v[i].span->process == span->process);
}

/* The call that took most by itself, of those whose process is not listed yet; NULL: none took long. */
static const struct exemplar_span *longest_call(const struct descent *d, const struct exemplar *e, uint32_t vertex)
{
	const struct exemplar_span *best = NULL;

	VEC_EACH(s, e->spans)
		if ((vertex == NO_VERTEX || s->vertex == vertex) && !is_listed(d, s) && (!best || s->path > best->path))
			best = s;
	return best && (double)best->path >= PLACE_LEAST * (double)e->duration ? best : NULL;
}

int descent_find_places(const struct exemplar *e, uint32_t vertex, struct descent *d)
{
	size_t most = vertex == NO_VERTEX ? DESCENT_PLACES : 1;
	const struct exemplar_span *s;
	int r = 0;

	while (r == 0 && d->places.n < most && (s = longest_call(d, e, vertex)))
		r = VEC_PUSH(d->places, (struct descent_place){.request = e, .span = s});
	return r;
}

const struct exemplar *descent_request(const struct forest *f, const char *id)
{
	uint64_t high, low;

	span_trace_id_of_text(f->names, id, strlen(id), &high, &low);
	for (size_t i = 0; i < f->buckets.n; i++)
		VEC_EACH(g, f->buckets.v[i].groups) {
			for (size_t j = 0; j < g->slowest.n + g->sample.n; j++) {
				const struct exemplar *e = j < g->slowest.n ? &g->slowest.v[j] : &g->sample.v[j - g->slowest.n];

				if (e->high == high && e->low == low)
					return e;
			}
		}
	return NULL;
}
