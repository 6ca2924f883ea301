#include "machine/findings/history.h"

#include <stdlib.h>

void history_free(struct history *h)
{
	for (size_t i = 0; i < h->series.n; i++) {
		free(h->series.v[i].label);
		VEC_FREE(h->series.v[i].minutes.values);
	}
	VEC_FREE(h->series);
	VEC_FREE(h->episodes.list);
	free(h->recorded);
	free(h->machine);
	free(h->programs);
	*h = (struct history){};
}
