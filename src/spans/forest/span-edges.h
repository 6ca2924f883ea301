/* Which calls nothing waits for, learnt over many traces (after Chow et al., "The Mystery Machine", OSDI 2014: a hypothesis
 * lives until a counter-example).
 *
 * That a caller waits for what it calls is assumed of every edge (caller's function, callee's function). A call speaks
 * against it that continues after its caller ended, for more than 1 % of the caller's time; between two processes, whose clocks
 * may differ, one that lasts more than 10 % longer than its caller. An edge against which EDGE_SHARE of its calls speak, and at least EDGE_LEAST, is
 * asynchronous: in every trace, also where the call happened to end in time. Such calls are off the critical path.
 */
#pragma once

#include <stdio.h>

#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "spans/forest/trace-path.h"
#include "spans/model/span.h"

#define EDGE_SHARE 0.05
#define EDGE_LEAST 5
#define EDGES_MAX  65536 /* that are counted */

struct span_edge {
	uint32_t caller[2], callee[2]; /* texts: service, operation */
	uint64_t calls, outlived;
};

struct span_edges {
	struct names *names;
	VEC(struct span_edge) list;
	struct hmap known; /* (caller, callee) -> index + 1 */
};

/* Belongs to a table of names, which outlives it. */
void span_edges_init(struct span_edges *e, struct names *names);
void span_edges_free(struct span_edges *e);
/* Counts the calls of a trace: `tree` is trace_tree()'s of it. 0 or -ENOMEM. */
int span_edges_count(struct span_edges *e, const struct tree *tree, const struct span *spans);
/* Drops those that are synchronous for all that was counted; the others in the order of their texts. */
void span_edges_settle(struct span_edges *e);
bool span_edges_have(const struct span_edges *e, const struct span *caller, const struct span *callee);
/* A file: an edge a line, "service TAB operation TAB service TAB operation", caller first; '#' begins a comment. 0 or -errno,
 * -EINVAL with *ret_error "file:line: ..." (caller frees). */
int span_edges_read(struct span_edges *e, const char *path, char **ret_error);
int span_edges_write(const struct span_edges *e, const char *path, char **ret_error);
