#include "machine/events/drawing.h"

const char *const cpu_use_names[CPU_USES] = {"unknown", "idle", "system", "other", "chosen"};

static void free_lines(struct drawn_line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		VEC_FREE(lines[i].runs);
}

void drawing_free(struct drawing *d)
{
	free_lines(d->lines.v, d->lines.n);
	free_lines(d->cpus.v, d->cpus.n);
	VEC_FREE(d->lines);
	VEC_FREE(d->cpus);
	VEC_FREE(d->mixes.v);
	hmap_free(&d->mixes.known);
	VEC_FREE(d->path.pieces);
}

void instant_free(struct instant *m)
{
	VEC_FREE(m->chain.pieces);
	blame_matrix_free(&m->matrix);
}
