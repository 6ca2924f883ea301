/* Traces into the call forest. */
#pragma once

#include "spans/forest/forest.h"
#include "spans/forest/span-record.h"
#include "spans/forest/trace-path.h"

struct forest_builder {
	struct forest *forest;
	struct recorder_of_sets *records;
	enum path_rule rule;
	int64_t from, to; /* wall ns: requests that begin in [from, to) */
	struct span_trace_ids only; /* none = all traces */
	const struct span_links *links; /* of the spans; lent, NULL = none are known */
	/* private */
	struct tree tree;
	uint32_t allocated;
	uint32_t *vertex; /* of each span */
	int64_t *sum;	  /* of each vertex: time on the path of this request */
	int64_t *self;	  /* of each vertex: time of this request in which none of its children ran */
	uint32_t *calls;  /* of each vertex: calls of this request */
	uint32_t *touched;
	size_t n_vertices, n_touched;
	struct vertex_scratch *scratch; /* of each vertex: about the siblings being looked at */
	uint32_t turn;
	struct hmap combinations; /* version sets of a trace's processes -> their union */
	struct hmap leaf_sets;	  /* (attributes, resource) -> both together */
	struct hmap call_texts;	  /* (service, operation) -> "service operation" */
};

void forest_builder_free(struct forest_builder *b);
/* For struct assembler_options. 0 or -ENOMEM. */
int forest_builder_add(void *builder, const struct span *spans, uint32_t n);
