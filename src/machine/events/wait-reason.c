#include "machine/events/wait-reason.h"

#include <stdlib.h>

void wait_reasons_free(struct wait_reasons *r)
{
	for (size_t i = 0; i < r->list.n; i++) {
		free(r->list.v[i].name);
		free(r->list.v[i].words);
	}
	VEC_FREE(r->list);
}
