#include "machine/model/start-record.h"

#include <stdlib.h>

#include "lib/data/cleanup.h"

void start_record_free(struct start_record *r)
{
	for (size_t i = 0; i < r->units.n; i++) {
		FREE_ALL(r->units.v[i].name, r->units.v[i].after);
	}
	for (size_t i = 0; i < r->gaps.n; i++) {
		FREE_ALL(r->gaps.v[i].before, r->gaps.v[i].next);
	}
	VEC_FREE(r->units);
	VEC_FREE(r->gaps);
	VEC_FREE_EACH(r->processes, free(each->name));
	*r = (struct start_record){};
}
