#include "machine/findings/process-snapshot.h"

#include <stdlib.h>

void curve_free(struct curve *c)
{
	free(c->low);
	free(c->mean);
	free(c->high);
	*c = (struct curve){};
}

void lives_free(struct lives *l)
{
	for (size_t i = 0; i < l->v.n; i++)
		entity_info_free(&l->v.v[i].info);
	VEC_FREE(l->v);
}
