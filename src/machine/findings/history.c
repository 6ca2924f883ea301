#include "machine/findings/history.h"

#include <stdlib.h>

void history_free(struct history *h)
{
	VEC_FREE_EACH(h->series, free(each->label); VEC_FREE(each->minutes.values));
	VEC_FREE(h->episodes.list);
	free(h->recorded);
	free(h->machine);
	free(h->programs);
	*h = (struct history){};
}
