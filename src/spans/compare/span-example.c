#include "spans/compare/span-example.h"

#include <errno.h>
#include <string.h>

static bool is_whole(const struct forest_group *g, const struct sampled_request *r)
{
	for (size_t i = 0; i < g->slowest.n + g->sample.n; i++) {
		const struct exemplar *e = i < g->slowest.n ? &g->slowest.v[i] : &g->sample.v[i - g->slowest.n];

		if (e->high == r->high && e->low == r->low)
			return true;
	}
	return false;
}

static bool shows_better(const struct cause_trace *a, const struct cause_trace *b)
{
	return a->whole != b->whole ? a->whole : a->duration > b->duration;
}

static void keep(struct cause_trace one, struct cause_trace v[CAUSE_TRACES], size_t *n)
{
	size_t at = *n;

	if (at == CAUSE_TRACES && !shows_better(&one, &v[at - 1]))
		return;
	at -= at == CAUSE_TRACES;
	for (; at > 0 && shows_better(&one, &v[at - 1]); at--)
		v[at] = v[at - 1];
	v[at] = one;
	*n += *n < CAUSE_TRACES;
}

void span_examples_free(struct cause_trace *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i].id);
}

int span_examples_find(const struct forest *f, span_example_fn agrees, void *state, struct cause_trace ret[CAUSE_TRACES], size_t *ret_n)
{
	*ret_n = 0;
	for (size_t i = 0; i < f->buckets.n; i++)
		VEC_EACH(g, f->buckets.v[i].groups) {
			VEC_EACH(r, g->requests)
				if (agrees(state, &f->buckets.v[i], g, r))
					keep((struct cause_trace){r->high, r->low, NULL, r->duration, is_whole(g, r)}, ret, ret_n);
		}
	for (size_t i = 0; i < *ret_n; i++) {
		ret[i].id = strdup(SPAN_TRACE_ID(f->names, ret[i].high, ret[i].low));
		if (!ret[i].id)
			return -ENOMEM;
	}
	return 0;
}
