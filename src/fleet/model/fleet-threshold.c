#include "fleet/model/fleet-threshold.h"

#include <stdlib.h>

void fleet_thresholds_free(struct fleet_thresholds *t)
{
	VEC_FREE_EACH(t->list, free(each->counter); free(each->words));
}

size_t fleet_thresholds_rules(const struct fleet_thresholds *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->list.n; i += 1 + t->list.v[i].others)
		n += !t->list.v[i].alternative;
	return n;
}
