/* Some requests against the others, and a map of all: found by spans/compare/span-select.h. */
#pragma once

#include "spans/model/span-finding.h"

/* Requests by time and by the logarithm of their duration. */
struct span_map {
	int64_t from, step;	 /* wall ns of the first column, ns of each */
	double low, factor;	 /* ns of the lowest row, and how many times as long each row is as the one below it */
	size_t columns, rows;	 /* both 0: there are no requests */
	double *counts;		 /* rows x columns, the lowest row first: requests, as many as the sample stands for */
	double *failed;		 /* of those */
};

/* A kind of requests of which more is selected than of the others. */
struct span_difference {
	char *where;
	double requests; /* of this kind, as many as the sample stands for */
	double selected; /* share of them that is selected */
	double others;	 /* share of all others that is selected */
	double covers;	 /* share of the selected that is of this kind */
	struct cause_trace traces[CAUSE_TRACES];
	size_t n_traces;
};

/* On the critical path of a request, all calls of a kind together, ns. */
struct span_call_difference {
	uint32_t call; /* text */
	double selected, others;
	double through[2]; /* share of the others, and of the selected, that goes through it */
};

struct span_differences {
	VEC(struct span_difference) list; /* the one that covers most beyond chance first */
	VEC(struct span_call_difference) calls; /* by how much more time the selected spend */
	VEC(char *) looked_at;
	size_t sampled, n_selected; /* requests of the sample */
	double requests[2], mean[2]; /* of the others and the selected: how many they stand for, ns */
};
