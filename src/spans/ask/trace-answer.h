/* The critical path of single traces: `whyslow spans path --trace`, `--each-trace`. */
#pragma once

#include "spans/forest/forest.h"
#include "spans/forest/trace-path.h"
#include "spans/model/span-answer.h"

/* Reads one trace after another; zero-initialised but for the first three. */
struct trace_reader {
	struct forest *paths; /* lent: call paths of the traces are added; its names are the spans' */
	enum path_rule rule;
	struct tree tree;	/* with its asynchronous calls and names */
	uint32_t siblings_of;	/* private: whose children the next two are of */
	VEC(int64_t) on_path;	/* private: ends, ascending */
	int64_t first_start;	/* private */
};

void trace_reader_free(struct trace_reader *s);
/* The path of a trace of n spans, which *ret lends. 0; 1 = the trace has no root, and *ret is not set; -ENOMEM. */
int trace_answer_make(struct trace_reader *s, const struct span *spans, uint32_t n, struct trace_answer *ret);
