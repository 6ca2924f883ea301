/* The work that a version of a service did by itself, whatever the versions it calls did.
 *
 * A service's own time is what its calls take while nothing that they call runs, the way to them (an edge is its callee's), and the calls
 * that it makes of what has no spans of its own (a database, a queue, a cache: forest_owners()). It is compared call by call, so that neither a slow callee nor a caller that calls more often moves it, at the times at which
 * both sides ran (span-strata.h). What a service does with its calls is its own, too: it makes more of them a call, or fewer of
 * them at a time: the time in which any of them runs grows by more than what they take in all, so that it is not its callees'. Calls that no caller
 * waits for, as messages, count with all of their own time.
 */
#pragma once

#include "spans/compare/suspect.h"

#define OWN_DELAYS .02 /* of the request: what a service takes longer by itself, at least, to delay requests */
#define CAUSE_KEEPS .5 /* of its excess is what a cause still has among fewer requests */
#define OWN_SILENT 1.2 /* times as long, at least, is a call that takes longer without delaying requests */

/* The calls of a bucket, and which service answers for each call path. */
struct own_calls {
	const struct forest *f; /* lent */
	uint32_t *owners;	/* of each vertex of the forest */
	VEC(uint32_t) vertices; /* that the bucket has, in ascending order */
};

/* 0 or -ENOMEM; to be freed after an error, too. */
int own_calls_init(const struct forest *f, struct own_calls *ret);
int own_calls_of_bucket(struct own_calls *c, const struct bucket *b);
void own_calls_free(struct own_calls *c);

struct own_time {
	double mean, others; /* ns a request on the critical path, and of asynchronous calls, at the calls of the suspect's version */
	double p;	     /* Welch, of the calls' own time; 1 where it is not longer */
	double structure;    /* ns a request, for more calls, or fewer at a time */
	struct suspect_call call;   /* what adds most */
	struct suspect_call surest; /* of the calls that alone add OWN_DELAYS of the request, */
	double p_call;		    /* ... by chance, of all calls of the service; 1 = none */
	struct suspect_call silent; /* the surest of the calls that take OWN_SILENT times as long, whether requests wait for them or not, */
	double p_silent;	    /* ... by chance, of all calls of the service; 1 = none */
};

/* Its own failures: calls of a service that failed without a failure of what they call; for any other package, requests. */
struct own_failures {
	int64_t first;	     /* wall ns: when the version was first there */
	bool at_other_times; /* few of its others, or none, ran with it: they are those of all times */
	double share, others; /* a request, at the calls of the suspect's version; its others as far as they ran at its times, if any did */
	double p;	      /* that it is not greater, by chance; 1 where it is not, or where fewer than OWN_FAILURES were seen */
};

#define OWN_FAILURES 5

/* The text by which a vertex's calls are known in sampled requests. */
uint32_t own_call_text(const struct forest *f, uint32_t vertex);

/* How many times as long other packages' calls take by themselves in the requests of the suspect's version as in those of its other versions. */
double span_own_rise_of_others(const struct own_calls *calls, const struct suspect_version *s);
/* Is the call slower by itself, surely and by CAUSE_KEEPS of what it is in all, in the requests of those times at which the others ran, too, however few these
 * are? False where they are too few to tell. */
bool span_own_rose_at_same_times(const struct own_calls *calls, const struct suspect_version *s, const struct suspect_call *call);
void own_failures_find(const struct own_calls *calls, const struct suspect_version *s, struct own_failures *ret);

/* The own time of a service by that version against its others. */
void own_time_find(const struct own_calls *calls, const struct suspect_version *s, struct own_time *ret);
