#include "machine/findings/inspection.h"

#include <stdlib.h>

#include "lib/data/cleanup.h"

void inspection_free(struct inspection *n)
{
	FREE_ALL(n->exe, n->cmdline, n->unit, n->container, n->package, n->version, n->summary, n->recorded, n->recorded_json);
	for (size_t k = 0; k < n->threads.n; k++) {
		VEC_FREE(n->threads.v[k].instructions);
		VEC_FREE(n->threads.v[k].functions);
		VEC_FREE(n->threads.v[k].waits);
	}
	VEC_FREE(n->threads);
	VEC_FREE_EACH(n->files, free(each->path));
	VEC_FREE_EACH(n->memory, free(each->name));
	VEC_FREE_EACH(n->limits, free(*each));
	VEC_FREE_EACH(n->missing, free(*each));
	VEC_FREE_EACH(n->remarks, free(*each));
	path_tree_free(&n->top_down);
	path_tree_free(&n->bottom_up);
	path_tree_free(&n->waits);
	*n = (struct inspection){};
}
