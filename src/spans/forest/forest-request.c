/* Requests of which everything is kept that tells them apart: a random sample of all, the same in whatever order parts are merged. */

#include "spans/forest/forest.h"

bool forest_takes_request(uint32_t thinned, uint64_t high, uint64_t low)
{
	return !thinned || span_trace_id_lot(high, low) >> (64 - thinned) == 0;
}

static void thin_group(struct forest *f, struct forest_group *g)
{
	size_t kept = 0;

	VEC_EACH(r, g->requests) {
		if (forest_takes_request(f->thinned, r->high, r->low))
			g->requests.v[kept++] = *r;
		else
			VEC_FREE(r->marks);
	}
	f->n_requests -= (uint32_t)(g->requests.n - kept);
	g->requests.n = kept;
}

void forest_thin(struct forest *f, uint32_t thinned)
{
	if (thinned <= f->thinned)
		return;
	f->thinned = thinned;
	for (size_t i = 0; i < f->buckets.n; i++)
		for (size_t j = 0; j < f->buckets.v[i].groups.n; j++)
			thin_group(f, &f->buckets.v[i].groups.v[j]);
}

int forest_keep_request(struct forest *f, struct forest_group *g, struct sampled_request *r)
{
	int result = forest_takes_request(f->thinned, r->high, r->low) ? VEC_PUSH(g->requests, *r) : 1;

	if (result != 0) {
		VEC_FREE(r->marks);
		return result < 0 ? result : 0;
	}
	*r = (struct sampled_request){};
	f->n_requests++;
	while (f->n_requests > FOREST_REQUESTS_MAX && f->thinned < FOREST_THINNED_MAX)
		forest_thin(f, f->thinned + 1);
	return 0;
}

double forest_request_weight(const struct forest *f, const struct sampled_request *r)
{
	return (double)r->weight / (double)SPAN_WEIGHT_ONE * (double)((uint64_t)1 << f->thinned);
}
