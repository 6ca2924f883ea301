/* Any selection of requests against the rest: a map of all by time and duration, and what tells those in a part of it from the others.
 *
 * All of it is of the forest's sample of requests (struct sampled_request). What tells the selected apart are combinations of attributes, those
 * of calls and the calls themselves among them: kinds of requests of which more are selected than chance lets, found by
 * attributes_search() over counts. Where their time goes is said by call: what the selected and the others spend there on the critical
 * path.
 */
#pragma once

#include "analysis/span/span-cause.h"

#define SELECT_COLUMNS 96 /* of the map, at most: of time */
#define SELECT_ROWS    48 /* of duration */
#define SELECT_CALLS   20 /* listed, at most */

/* [from, to) of wall time and [low, high) of duration, ns; 0 = no bound. */
struct span_selection {
	int64_t from, to, low, high;
	bool failed; /* only those that failed */
	bool (*bucket)(const struct forest *f, const struct bucket *b); /* which are there at all; NULL = all */
	const struct forest *f; /* private */
};

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

/* 0 or -ENOMEM. */
int span_map_make(const struct forest *f, const struct span_selection *s, struct span_map *ret);
void span_map_free(struct span_map *m);
/* With nothing selected, or everything, the lists are empty. 0 or -ENOMEM. */
int span_select(const struct forest *f, const struct span_selection *s, struct span_differences *ret);
void span_differences_free(struct span_differences *d);
