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
	for (size_t k = 0; k < n->files.n; k++)
		free(n->files.v[k].path);
	VEC_FREE(n->files);
	for (size_t k = 0; k < n->memory.n; k++)
		free(n->memory.v[k].name);
	VEC_FREE(n->memory);
	for (size_t k = 0; k < n->limits.n; k++)
		free(n->limits.v[k]);
	VEC_FREE(n->limits);
	for (size_t k = 0; k < n->missing.n; k++)
		free(n->missing.v[k]);
	VEC_FREE(n->missing);
	for (size_t k = 0; k < n->remarks.n; k++)
		free(n->remarks.v[k]);
	VEC_FREE(n->remarks);
	path_tree_free(&n->top_down);
	path_tree_free(&n->bottom_up);
	path_tree_free(&n->waits);
	*n = (struct inspection){};
}
