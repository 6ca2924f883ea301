#include "machine/events/program-waits.h"

#include <stdlib.h>

#include "lib/data/cleanup.h"

void program_waits_free(struct program_waits *p)
{
	FREE_ALL(p->name, p->server);
	VEC_FREE(p->pids);
	VEC_FREE(p->waits);
	VEC_FREE(p->work);
	wait_chain_free(&p->chain);
	for (size_t i = 0; i < p->held_in.n; i++)
		for (size_t k = 0; k < p->held_in.v[i].n; k++)
			free(p->held_in.v[i].functions[k]);
	VEC_FREE(p->held_in);
	blame_matrix_free(&p->by_process);
	*p = (struct program_waits){};
}
