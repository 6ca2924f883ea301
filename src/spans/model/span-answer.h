/* Answers about traced requests, made in spans/ask and shown by spans/ask. */
#pragma once

#include "spans/model/forest.h"

/* Calls of a function, by any caller and in any bucket. */
struct span_function {
	uint32_t service, operation; /* texts */
	double calls, errors;
	long double sum, squares; /* of durations, ns */
	struct sketch *durations;
};

struct span_functions {
	struct names *names;
	VEC(struct span_function) list; /* those that take most first, once sorted */
	struct hmap by_name;	       /* private */
};

double span_function_mean(const struct span_function *x);
double span_function_deviation(const struct span_function *x);

/* Texts of two services, or of two hosts: the first calls the second. */
struct span_call {
	uint32_t caller, callee;
};

struct span_calls {
	VEC(struct span_call) list;
	struct hmap known; /* private: (caller, callee) -> anything */
};

/* A request that was stored whole, as a tree is read: a call, then the calls it made, in order of time. */
struct span_outline {
	const struct forest *forest; /* lent, as the next three */
	const struct bucket *bucket;
	const struct forest_group *group;
	const struct exemplar *request;
	bool slowest;	       /* it is one of the slowest; else one of a sample */
	uint32_t *order, *row; /* order[i]: an index of spans; row: of a span, its place in order */
	unsigned *depth;       /* of a span */
	uint32_t n;
};

/* A call path in two requests: its own time on the critical path, ns, and how many calls of it. */
struct span_two_calls {
	uint32_t vertex;
	int64_t path[2];
	unsigned calls[2];
};

struct span_two_requests {
	const struct forest *forest; /* lent, as the next two */
	const struct exemplar *of[2];
	VEC(struct span_two_calls) list; /* the greatest first */
};

/* A call path's part in the critical path of a bucket's requests. */
struct span_step {
	uint32_t vertex;
	double path, drag; /* ns a request */
	double p95;	   /* ns, of a call */
};

/* The critical path of a bucket: those that take most first; or, by the rule sdiag, the longest path over p95, the first call first. */
struct span_path {
	bool sdiag;
	double length; /* sdiag: ns */
	struct span_step *steps;
	size_t n;
};

/* A span of a trace, by its critical path; all times in ns. */
struct trace_answer_span {
	const struct span *span; /* lent */
	int64_t start, length;	 /* as the rule cuts them; start: since the root's */
	int64_t own, drag, drag_exclusive, slack;
	uint32_t depth;
	bool on_path, asynchronous;
};

/* The time of a call path on the critical path. */
struct trace_answer_operation {
	const struct span *span; /* lent: any of that path */
	int64_t ns;
};

/* The critical path of one trace. */
struct trace_answer {
	const struct names *names; /* lent, as the next */
	const struct span *root;
	uint32_t n_spans, orphans;
	VEC(struct trace_answer_span) spans;	       /* that hang below the root, parents first */
	VEC(uint32_t) path;			       /* indices into spans; the last to return comes first */
	VEC(struct trace_answer_operation) operations; /* of the path; call paths may have the same name */
};

void trace_answer_free(struct trace_answer *a);

/* The part of a shard that one worker did. */
struct work_done {
	int64_t pieces, had, made; /* of the shard; there already; by this worker */
	uint64_t spans;		   /* of those made */
	int64_t took;		   /* ns */
};
