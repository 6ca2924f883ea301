/* The critical path of a thread over a window: at every moment the one thing that, done sooner, would have let the
 * thread continue sooner. The walk's steps (wait-walk.h), joined where they continue, each with which one caused the wait. */
#pragma once

#include "machine/events/blame.h"

/* The caller frees with path_free(). 0, -ENOMEM, -ERANGE for an empty window. */
int path_build(const struct timeline *t, uint32_t thread, int64_t from, int64_t to, struct critical_path *ret);
void path_free(struct critical_path *p);
/* For drawing: pieces shorter than `least` ns are joined, until they are as long, to the longest of them. */
void path_coarsen(struct critical_path *p, int64_t least);

/* The path by who and what, the largest first: where the window's time went. */
struct path_share {
	uint32_t thread;
	uint8_t state;
	uint8_t by; /* enum blamed */
	uint32_t id;
	int64_t ns;
	uint32_t pieces;
};

/* 0 or -ENOMEM; the caller frees *ret. */
int path_shares(const struct critical_path *p, struct path_share **ret, size_t *ret_n);
