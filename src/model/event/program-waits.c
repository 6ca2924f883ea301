#include "model/event/program-waits.h"

#include <stdlib.h>

void program_waits_free(struct program_waits *p)
{
	free(p->name);
	VEC_FREE(p->pids);
	VEC_FREE(p->waits);
	wait_chain_free(&p->chain);
	blame_matrix_free(&p->by_process);
	*p = (struct program_waits){};
}
