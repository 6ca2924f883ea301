#include "machine/findings/history.h"

#include <stdlib.h>

#include "lib/data/cleanup.h"

void history_free(struct history *h)
{
	VEC_FREE_EACH(h->series, free(each->label); VEC_FREE(each->minutes.values));
	VEC_FREE(h->episodes.list);
	VEC_FREE_EACH(h->incidents, free(each->note));
	FREE_ALL(h->recorded, h->machine, h->programs);
	*h = (struct history){};
}
