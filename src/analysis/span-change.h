/* Two sets of requests side by side: which bucket became slower, where on its critical path the milliseconds went, and
 * by what: slower calls, more calls, retries, calls one after another that were side by side, a single slow host.
 *
 * Both sets are the two groups of each bucket of one forest (analysis/span-sides.h), so that vertices are the same. With
 * the rule 'tolerant' or 'strict' the vertices' shares of the critical path add up to the change of the mean exactly.
 */
#pragma once

#include "analysis/span-sides.h"

#define SPAN_TOLERANCE 0.05 /* a change of the mean below this is no regression */
#define SPAN_Q	       0.01 /* Benjamini-Hochberg over buckets */
#define SPAN_MOVED     0.5  /* of what calls gained, if others lost as much: it was moved */
#define SPAN_LEAST     20   /* requests on either side, below which nothing can be told */

enum span_reason {
	REASON_NONE,
	REASON_SLOWER,	   /* each call takes longer by itself */
	REASON_MORE_CALLS, /* more calls a parent call */
	REASON_RETRIES,	   /* more calls, and they follow failed ones */
	REASON_SEQUENTIAL, /* its calls ran side by side and now run one after another */
	REASON_NEW,	   /* was not called before */
	REASON_ONE_HOST,   /* slower, on one host of several only */
	REASON_COUNT
};

/* One vertex's part in the change of a bucket's mean. */
struct vertex_change {
	uint32_t vertex;
	double before, after;		    /* exclusive time on the critical path, ns a request */
	double calls_before, calls_after;   /* a parent call */
	double each_before, each_after;	    /* exclusive time (self) of a call, ns */
	double parallel_before, parallel_after; /* calls at a time: of what it calls, or, where they became
						  * sequential, among the siblings of `through`; NaN = calls nothing */
	double p;			    /* Welch, of the time on the path a request */
	enum span_reason reason;
	uint32_t through; /* the vertex above it, or itself, that is called more often, retried or serialised */
	uint32_t host;	    /* REASON_ONE_HOST: text */
	double host_mean, others_mean; /* ns of self time a call, on that host and on the others */
};

enum span_verdict { VERDICT_SAME, VERDICT_SLOWER, VERDICT_FASTER, VERDICT_UNCLEAR };

struct bucket_change {
	uint32_t bucket; /* index in the forest */
	const struct group *before, *after; /* NULL = none there */
	double mean_before, mean_after;	    /* ns */
	double low, high;		    /* 95 % of mean_after - mean_before */
	double superiority;		    /* P(a request of the candidate takes longer) + half of equal */
	double p, q;
	enum span_verdict verdict;
	double gained, lost; /* ns a request, of vertices that changed beyond chance: cost that moved is in both */
	VEC(struct vertex_change) vertices; /* by how much they added, most first */
};

/* A service's own time and the way to it, at the same calls: how many times as slow. */
struct service_change {
	uint32_t service;
	double expected, got; /* ns: what the candidate's calls would have taken before, and took */
	double calls;
	double score; /* log(got / expected), shrunk where it was called little */
};

struct span_change {
	VEC(struct bucket_change) buckets; /* regressions first, then by the time they cost all together */
	VEC(struct service_change) services; /* by score */
	double mean_before, mean_after; /* of all requests */
	double within, mix;		/* their difference: changed within buckets, or only in the buckets' shares */
	uint32_t only_before, only_after; /* buckets that one side does not have */
};

/* `f` is finished and outlives *ret. 0 or -ENOMEM. */
int span_change(const struct forest *f, struct span_change *ret);
void span_change_free(struct span_change *c);
/* Twice the smaller p of Welch's test of means and of the rank test (superiority = P(after > before) + half of equal). */
double moments_p(const struct moments *before, const struct moments *after, double superiority);
const char *span_reason_name(enum span_reason reason);
const char *span_verdict_name(enum span_verdict verdict);
/* What a gate says: SLOWER if any bucket is, UNCLEAR if most traffic cannot be told, else SAME. */
enum span_verdict span_change_gate(const struct span_change *c);
