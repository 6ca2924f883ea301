#include "spans/ask/span-calls.h"

#include <errno.h>

static int add(struct span_calls *c, uint32_t caller, uint32_t callee)
{
	if (!caller || !callee || caller == callee || hmap_get(&c->known, caller, callee))
		return 0;
	if (hmap_put(&c->known, caller, callee, c) < 0)
		return -ENOMEM;
	return VEC_PUSH(c->list, (struct span_call){caller, callee});
}

int span_calls_services(const struct forest *f, struct span_calls *c)
{
	int r = 0;

	for (size_t i = 0; i < f->vertices.n && r == 0; i++) {
		const struct vertex *v = &f->vertices.v[i];
		const uint32_t caller = v->kind == VERTEX_EDGE ? v->caller : v->parent != NO_VERTEX ? f->vertices.v[v->parent].service : 0;

		r = add(c, caller, v->service);
	}
	return r;
}

/* The hosts that were seen at a vertex, and those above it, in the requests that were kept whole: there each call has its two ends. */
static int find_hosts_of(const struct exemplar *e, struct span_calls *c)
{
	int r = 0;

	for (size_t i = 0; i < e->spans.n && r == 0; i++) {
		const struct exemplar_span *s = &e->spans.v[i];

		if (s->parent < e->spans.n)
			r = add(c, e->spans.v[s->parent].host, s->host);
	}
	return r;
}

int span_calls_hosts(const struct forest *f, struct span_calls *c)
{
	int r = 0;

	for (size_t b = 0; b < f->buckets.n; b++)
		for (size_t g = 0; g < f->buckets.v[b].groups.n; g++) {
			const struct forest_group *group = &f->buckets.v[b].groups.v[g];

			for (size_t i = 0; i < group->sample.n && r == 0; i++)
				r = find_hosts_of(&group->sample.v[i], c);
			for (size_t i = 0; i < group->slowest.n && r == 0; i++)
				r = find_hosts_of(&group->slowest.v[i], c);
		}
	return r;
}

void span_calls_free(struct span_calls *c)
{
	VEC_FREE(c->list);
	hmap_free(&c->known);
}
