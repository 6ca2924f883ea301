/* A change between two sets of requests, bucket by bucket and call by call: found by spans/compare/span-change.h. Views show it and
 * compute nothing. */
#pragma once

#include "spans/model/forest.h"

#define MIX_KEYS 3 /* attributes that are combined */

struct span_mix {
	uint32_t keys[MIX_KEYS]; /* texts */
	size_t n_keys;		 /* 0 = no attribute's mix moved the mean: the rest is not set */
	double mix, within;	 /* ns of the mean */
	double error;		 /* standard error of within, ns, */
	double freedom;		 /* ... and its degrees of freedom */
	uint32_t value;		 /* text: of keys[0], the one whose share moved most; 0 = has none */
	double share_before, share_after; /* of that value */
};

/* Requests that are slow for their kind: spans/compare/span-slow.h. */
#define SLOW_QUANTILES 5     /* 5 % of the requests of both sides are beyond the first, 1 % beyond the last, each two thirds of those before */
#define SLOW_MOST	4
#define SLOW_KEYS	7     /* attributes that make kinds */
#define SLOW_TIMES     1.5   /* times as many requests are that slow, at least ... */
#define SLOW_LEAST     0.005 /* ... and this share of them more */

struct span_slow_share {
	double times;	/* the geometric mean of their kind, that they exceed */
	double after;	/* the candidate's requests that do, */
	double beyond;	/* ... and by more than what is tolerated */
	double usual;	/* as many of the same kinds did before */
	double expected, all; /* mean of `after` if sides do not differ, and the requests of both sides that do */
};

struct span_slow {
	uint32_t keys[SLOW_KEYS]; /* texts: what the kinds are made of; n_keys 0 = all requests are of one kind */
	size_t n_keys;
	double shift, shift_error, shift_freedom; /* of the mean within kinds, 0.05 = 5 %; weighted by how surely each kind tells it, and what takes forever counts as
				    * SLOW_MOST times its kind. NaN: not known */
	double drift;	 /* variance of means of requests that follow each other, as a multiple of what it were of independent ones; 1 at least */
	struct span_slow_share at[SLOW_QUANTILES];
	double requests; /* the candidate's, of kinds that both sides have; effective numbers, as all of them are */
	size_t worst;	 /* the one that is least likely chance, of those that grew enough to matter; */
	double p;	 /* ... of all quantiles together. SLOW_QUANTILES, and 1: none */
};

/* NULL: none. */
static inline const struct span_slow_share *span_slow_worst(const struct span_slow *s)
{
	return s->worst < SLOW_QUANTILES ? &s->at[s->worst] : NULL;
}

#define SPAN_TOLERANCE 0.05 /* a change of the mean below this does not count as a regression */
#define SPAN_Q	       0.01 /* Benjamini-Hochberg over buckets */
#define SPAN_MOVED     0.5  /* of what calls gained, if others lost as much: it was moved */
#define SPAN_LEAST     20   /* requests on either side, below which means are sure only where ranks are, too */
#define SPAN_TAILS     3    /* quantiles of both sides beyond which requests are counted: 0.95, 0.98, 0.99 */
#define SPAN_POWER     0.95 /* chance with which a change that "could be seen" is reported */

enum span_reason {
	REASON_NONE,
	REASON_SLOWER,	   /* each call takes longer by itself */
	REASON_MORE_CALLS, /* more calls a parent call */
	REASON_RETRIES,	   /* more calls, and they follow failed ones */
	REASON_SEQUENTIAL, /* fewer of its calls run at a time */
	REASON_NEW,	   /* was not called before */
	REASON_ONE_HOST,   /* slower, on one host of several only */
	REASON_SOME,	   /* some calls take many times as long */
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

/* Kept in stores: never renumbered. */
enum span_verdict { VERDICT_SAME = 0, VERDICT_SLOWER = 1, VERDICT_FASTER = 2, VERDICT_UNCLEAR = 3, VERDICT_FAILING = 4 };

/* By what a bucket is slower. */
enum span_ground { GROUND_NONE, GROUND_MEAN, GROUND_TAIL, GROUND_CALL, GROUND_SLOW };

struct bucket_change {
	uint32_t bucket; /* index in the forest */
	const struct forest_group *before, *after; /* NULL = none there */
	double mean_before, mean_after;	    /* ns */
	double low, high;		    /* 95 % of mean_after - mean_before */
	double superiority;		    /* P(a request of the candidate takes longer) + half of equal */
	double p, q; /* of the smallest of all that was tested */
	double p_mean, p_tail, p_errors;
	struct span_slow for_kind;
	double errors_before, errors_after; /* share of the requests that failed */
	double tail_before, tail_after;	    /* share of the requests beyond `tail_ns` (that of the greatest change) */
	double tail_ns;
	double tails[2][SPAN_TAILS]; /* shares beyond each quantile that is looked at, before and after */
	struct span_mix mix;	  /* of what was asked for (n_keys 0 = the same) */
	bool kinds;		  /* means are held against those of the same kind of requests (for_kind.keys) */
	bool mixed;		  /* shares of kinds moved */
	double within;		  /* ns: mean_after - mean_before without the mix; low and high are of it */
	double error, freedom;	  /* its standard error, ns, with its degrees of freedom */
	double could_see;	  /* the least rise of the mean that would have been reported, 0.08 = 8 % */
	enum span_verdict verdict;
	enum span_ground ground;
	bool call_behind; /* GROUND_CALL: no request waits for it */
	uint32_t slow_call; /* ... vertex, */
	double call_errors_before, call_errors_after; /* ... and the share of its calls that failed */
	double gained, lost; /* ns a request, of vertices that changed beyond chance: cost that moved is in both */
	VEC(struct vertex_change) vertices; /* by how much they added, most first */
	const struct exemplar *slow, *normal; /* a request of either side that shows the first of them; NULL = none was kept */
};

/* A service's own time and the way to it, at the same calls: how many times as slow. */
struct service_change {
	uint32_t service;
	double expected, got; /* ns: what the candidate's calls would have taken before, and took */
	double calls;
	double score; /* log(got / expected), shrunk where it was called little */
};

/* Buckets together. */
struct pool_change {
	uint32_t key, value; /* texts: those with this value of a dimension; only `value`: with this request; neither: all */
	double within, low, high, error, freedom; /* ns of the mean, at the candidate's shares of buckets and kinds of requests; 95 % */
	double mean;	  /* ns, of the baseline at those shares */
	double requests;  /* the candidate's */
	bool mixed;	  /* kinds have other shares of their buckets */
	double errors_before, errors_after; /* share of the requests, at the candidate's shares of buckets */
	double tail_before, tail_after;	    /* likewise, beyond one quantile of each bucket */
	struct span_slow for_kind;
	double p_mean, p_tail, p_errors;
	double p, q, could_see;
	double rise_most, errors_most; /* upper bounds (95 % sure): of the rise of the mean within kinds, 0.06 = 6 %; of the share that fails */
	enum span_verdict verdict;
	enum span_ground ground;
};

struct span_change {
	VEC(struct bucket_change) buckets; /* regressions first, then by the time they cost all together */
	VEC(struct service_change) services; /* by score */
	double mean_before, mean_after; /* of all requests */
	double requests_before, requests_after;
	double within, mix;		/* their difference: changed within buckets, or only in the buckets' shares */
	double least;			  /* rise of the mean that matters, 0.05 = 5 % */
	double level;			  /* chance of a false alarm */
	struct pool_change all;		  /* where each bucket has few requests */
	bool all_slower;		  /* its mean surely rose */
	VEC(struct pool_change) pools;	  /* of some of them */
	double seen_share; /* of the candidate's requests are in buckets that were judged */
	double seen;	   /* ... in which a rise of so much, or more, would have been reported */
	double some_seen;  /* ... and calls of which this share fails, or takes SOME_TIMES as long as their median; infinite: none */
	double uniform;	   /* calls of all services take so many times as long, about; 0 = they do not */
};

const char *span_reason_name(enum span_reason reason);
const char *span_verdict_name(enum span_verdict verdict);
const char *span_ground_name(enum span_ground ground); /* "none", "mean", "tail", "call", "slow" */
/* The pool that is worse, least likely by chance; NULL: none is. */
const struct pool_change *span_change_worst_pool(const struct span_change *c);
/* The verdict of a gate: FAILING or SLOWER if any bucket or pool is; UNCLEAR if neither most of the traffic nor all together
 * can be judged; else SAME. */
enum span_verdict span_change_gate(const struct span_change *c);
static inline bool span_is_regression(enum span_verdict v)
{
	return v == VERDICT_SLOWER || v == VERDICT_FAILING;
}
/* How many times as many requests a rise of `rise` would need to be reported, and failures of `least` more to be excluded. */
double span_change_needed(const struct span_change *c, double rise);
