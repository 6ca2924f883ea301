/* The tree of one trace, brought into order, and its critical path.
 *
 * trace_tree() finds parents by id, puts siblings in order of their ends, cuts children to their parents' time
 * (counted) and sets apart what does not overlap its parent: it is asynchronous, and so is what hangs below it.
 * trace_path() walks back from the root's end: the child that returned last is on the path, then the last one that
 * had returned before that one began ...; what no child on the path accounts for is the span's own.
 *
 *   crisp     CRISP (Zhang et al., ATC'22; graph.py of uber-research/CRISP) literally: c comes before the last
 *             returning child l if c.end < l.start, or if they overlap by less than 1 % of the parent and no third
 *             event of a sibling lies within the overlap. A child that covers its parent on both sides is dropped.
 *             Of a client's only child, a server span or one of another host (a process's tag "hostname"), only the
 *             length is cut. Exclusive times may overlap.
 *   strict    Jaeger's: c.end < l.start. Covering children are cut.
 *   tolerant  c.end <= l.start, or an overlap of less than 1 % of the parent, which is charged to the later one. The
 *             path's exclusive times add up to the root's duration exactly. The default.
 *
 * For strict and tolerant a server span that lies outside of its client span is first moved to its middle, with all
 * that hangs below it: the two clocks differ (Jaeger's adjustment). Below a producer span a consumer span is asynchronous
 * wherever it lies (OpenTelemetry, SpanKind: "there is often no direct critical path latency relationship").
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spans/model/span.h"

enum path_rule { PATH_TOLERANT, PATH_CRISP, PATH_STRICT, PATH_RULES };

#define PATH_OVERLAP 0.01 /* of the parent's duration: CRISP's allowance for clocks that differ */
#define CRISP_LENGTHENING 1.01 /* a server span may last this much longer than its client span */

enum tree_flags {
	TREE_REACHED = 1,      /* hangs below the root */
	TREE_ASYNCHRONOUS = 2, /* it, or a span above it, does not overlap its parent */
	TREE_ON_PATH = 4,
	TREE_EDGE = 8, /* a client span: the time no child accounts for is the network's and the callee's queue */
};

struct tree_tally {
	uint64_t orphans, more_roots, duplicates, clamped, outside, skewed;
	uint64_t clamped_ns;
};

/* Arrays of one trace after another; grows, belongs to its user, zero-initialised. */
struct tree {
	uint32_t n, allocated, root;
	uint32_t *parent;
	int64_t *start, *end; /* after cutting */
	int64_t *length;      /* end - start, but for what the crisp rule cuts in length only */
	int64_t *until;	      /* of spans on the path: where the path leaves them */
	int64_t *own;	      /* of spans on the path: exclusive time on it */
	int64_t *shift;	      /* how far clocks were moved */
	uint32_t *first;      /* n + 1: children of i are child[first[i]] ... child[first[i] + count[i]], by end */
	uint32_t *count;
	uint32_t *child;
	uint32_t *order; /* spans that hang below the root, parents first; `reached` of them */
	uint8_t *flags;
	const struct span_edges *asynchronous; /* calls that nothing waits for, whenever they end; lent, may be NULL */
	const struct names *names; /* of the spans' resources: CRISP asks for their hosts; lent, may be NULL */
	bool topmost; /* a trace without a root begins with its longest span whose parent is not there */
	uint32_t reached;
	uint32_t *table; /* ids -> index */
};

void tree_free(struct tree *t);
/* 0 or -ENOMEM. A trace without a root has tree->root == NO_SPAN and nothing reached. */
int trace_tree(const struct span *spans, uint32_t n, enum path_rule rule, struct tree *tree, struct tree_tally *tally);
/* As the second half of the above, for parents that are known: `parent`, `start`, `end` are filled, root is set. */
void tree_arrange(struct tree *tree, enum path_rule rule, const struct span *spans, struct tree_tally *tally);
int tree_reserve(struct tree *tree, uint32_t n);
void trace_path(struct tree *tree, enum path_rule rule);
/* The path as a list, each span followed by the path below its children, the last returning first. Returns its
 * length; `list` has room for n. */
uint32_t tree_path(const struct tree *tree, uint32_t *list);
/* How much sooner the whole would have ended without this span (on the path): until the next of its siblings would
 * have been the last to return (calligator's drag). Exclusive: without what its own children account for. */
int64_t tree_drag(const struct tree *tree, uint32_t span, bool exclusive);
const char *path_rule_name(enum path_rule rule);
/* 0 or -EINVAL. */
int path_rule_parse(const char *name, enum path_rule *ret);
