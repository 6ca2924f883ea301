#include "fleet/model/fleet-finding.h"

#include <math.h>
#include <stdlib.h>

const struct fleet_finding fleet_finding_empty = {
	.server = -1, .counter = -1, .measured_on = -1, .time = INT64_MIN, .score = NAN, .observed = NAN, .usual = NAN, .spread = NAN,
	.shift = NAN, .peak = NAN, .jump = NAN, .range = NAN, .level = NAN, .r = NAN, .p = NAN, .q = NAN, .low = NAN, .high = NAN, .least = NAN, .most = NAN,
};

void fleet_findings_free(struct fleet_findings *f)
{
	VEC_FREE(f->list);
}

int fleet_finding_column(const struct fleet_finding *x)
{
	return x->flags & FLEET_CALLED ? x->measured_on : x->server;
}

static int by_score(const void *a, const void *b)
{
	const struct fleet_finding *x = a, *y = b;

	if (isnan(x->score) || isnan(y->score))
		return isnan(x->score) - isnan(y->score);
	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x->counter != y->counter)
		return x->counter < y->counter ? -1 : 1;
	if (x->server != y->server)
		return x->server < y->server ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

void fleet_findings_sort(struct fleet_findings *f)
{
	if (f->list.n)
		qsort(f->list.v, f->list.n, sizeof(*f->list.v), by_score);
}

bool fleet_chain_is_together(const struct fleet *f, const struct fleet_finding *chain, size_t n)
{
	return n > 1 && chain[n - 1].since - chain[0].since < f->interval;
}
