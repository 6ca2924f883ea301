#include "fleet/model/fleet-finding.h"

#include <math.h>

#include "lib/data/order.h"

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

ORDER(by_score, struct fleet_finding, CMP(isnan(a->score), isnan(b->score)) ?: DESCENDING(score) ?: ASCENDING(counter) ?: ASCENDING(server) ?: ASCENDING(time))

void fleet_findings_sort(struct fleet_findings *f)
{
	VEC_SORT(f->list, by_score);
}

bool fleet_chain_is_together(const struct fleet *f, const struct fleet_finding *chain, size_t n)
{
	return n > 1 && chain[n - 1].since - chain[0].since < f->interval;
}
