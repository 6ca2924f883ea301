/* Causes of a change of requests: which of them, which version, which deployment, since when; down to the hosts. Views show it and
 * compute nothing. */
#pragma once

#include "lib/input/deployments.h"
#include "lib/net/host-answer.h"
#include "spans/model/attribute-finding.h"
#include "spans/model/span-change.h"
#include "spans/model/span-saturation.h"

#define CAUSE_TRACES 3 /* requests that show a cause, linked by their ids */

/* One request to look at. */
struct cause_trace {
	uint64_t high, low; /* private */
	char *id; /* as span_trace_id_text() has it */
	int64_t duration;
	bool whole; /* stored: `whyslow spans exemplars --trace ID` shows it */
};

struct span_cause {
	struct attribute terms[ATTRIBUTES_MAX]; /* the same as texts; value 0 = (none) */
	size_t n_terms;
	struct cause_trace traces[CAUSE_TRACES]; /* of the candidate's sample: those stored whole first, then the slowest */
	size_t n_traces;
	char *where; /* "hardware.generation = gen6 and agent version = 1.7.0" */
	double requests;
	double mean, expected; /* ns */
	double share;	       /* of the rise of all requests, at most 1 */
	double moved;	       /* share of its kinds of requests that became slower */
	size_t kinds;
};

struct span_causes {
	VEC(struct span_cause) list; /* the one that explains most first */
	VEC(char *) looked_at;	     /* attributes */
	VEC(char *) replaced;	     /* "agent version = 1.7.0 (1.6.0 and 3 others before)": on all of the candidate's, none of the baseline's */
	size_t kinds, tried;
	double mean, expected; /* ns, of all requests of the candidate's side that could be compared */
	double explained;      /* share of the rise */
	bool sampled; /* found in a sample of the requests, with the attributes of what they call */
	bool searched;
	bool alike;	       /* all kinds became slower by the same: no attribute tells them apart */
};

/* A call of a version, held against the same call of its other versions: one of its own, or one that it makes of something that has no
 * spans of its own (a database, a queue, a cache). */
struct suspect_call {
	uint32_t vertex; /* NO_VERTEX = none */
	enum span_reason reason; /* REASON_NONE, REASON_SLOWER, REASON_SOME, REASON_MORE_CALLS or REASON_SEQUENTIAL */
	double each, each_others; /* ns of its own time a call */
	double calls, calls_others; /* a call of what makes it */
	double beyond, share, share_others; /* REASON_SOME: ns of its own time, and the shares of the requests that spend more in it */
	double gain; /* ns a request */
	bool behind; /* no request waits for it: a message that is handled, work that continues behind an answer */
	char *label; /* "SELECT orders of postgresql"; NULL where the version is not a finding */
};

struct suspect_version {
	uint32_t bucket; /* index */
	uint32_t package, version; /* texts */
	double mean, others; /* ns, end to end */
	double requests;
	bool replaced; /* by all others, which came later; it has ended */
	bool at_other_times; /* than the other versions: at no time enough of both ran */
	double rise_of_others; /* then: what calls of other packages take by themselves in its requests, in those of its other versions 1 */
	bool levelled; /* mean and others are of the same times, in the suspect's proportions */
	double superiority, p, q;
	bool is_service; /* own_mean and own_others are known: judged by what it did itself */
	double own_mean, own_others; /* ns a request on the critical path (span-own.h), what it does with its calls included */
	struct suspect_call call; /* what adds most of it */
	bool by_call; /* that call alone is surer than all that it does */
	struct suspect_call silent; /* the surest of what takes longer without delaying requests */
	double p_silent, q_silent;
	bool slower, failing; /* by what it is a suspect: one of both at least; neither: it does not delay requests yet */
	double fails, fails_others; /* share of the requests in which it failed by itself (span-own.h), and its other versions at its times */
	double p_fails, q_fails;
	const struct suspect_version *without; /* private: requests that ran it are on neither side */
	bool deployed; /* a deployment of it is known, of the time of these requests */
	char *label; /* of the bucket */
	char *only_where; /* "hardware=gen6": of the buckets in which it ran, those in which it is worse have this and the others have not; NULL = nothing tells */
	char *together; /* "kernel 6.1, agent 2": that never ran without it, so that nothing tells them apart; NULL = none */
};

struct suspects {
	VEC(struct suspect_version) list; /* by the time they cost all together, most first */
	VEC(struct suspect_version) silent; /* that take longer without delaying requests, the surest first, each version once; not in `list` */
	unsigned compared, slower, buckets;
	unsigned alone; /* buckets with nothing to compare: one version only, */
	unsigned few;	/* or in so many of them several, of fewer than SPAN_LEAST requests each or together */
	unsigned replaced; /* versions that were slower, and are not suspects */
};

#define DEPLOYED_HOSTS 3 /* named, of one deployment */

struct span_deployed_one {
	const struct deployment *first; /* lent: of the list; the earliest of this package and version */
	char *hosts;	  /* "web-1, web-2 and 3 others"; "" = not said */
	size_t n_hosts;
	double share;	  /* of the rise, 0 ... 1; NaN: no call of these requests is the package's */
	bool slow_host;	  /* it began on the one host that is slower than the others */
};

struct span_deployed {
	VEC(struct span_deployed_one) list;
};

struct span_since {
	double before, during; /* mean duration, ns; failing: share of the requests */
	double p;
	bool failing;
	int64_t since, until; /* wall ns; until 0 = it continues */
	/* what to hold against what, [from, to) with 0 = no bound: whole days of it or its only hours against the same hours of the day
	 * before, as far as both are there; else all of it against all before */
	int64_t from, to, against_from, against_to;
};

/* A type of failure of a call, of which much more requests have one than before. */
struct span_error {
	uint32_t call; /* text: "service operation" */
	struct attribute type; /* "error.type" and "TimeoutError", "http.response.status_code" and "503": texts */
	double share[2]; /* of the requests, before and after */
	unsigned requests; /* of the sample, of both sides */
};

struct span_errors {
	VEC(struct span_error) list; /* the one that rose most first */
};

/* A call of a request on its host. */
struct descent_place {
	const struct exemplar *request;
	const struct exemplar_span *span;
	struct host_answer machine, program; /* why it was slow then; why the process was */
};

/* From a slow request down to the machines on which it waited. */
struct descent {
	const struct forest *forest; /* lent, as all that places point to */
	VEC(struct descent_place) places;
};
void descent_free(struct descent *d);

/* Two sides of requests and what changed between them. */
struct span_comparison {
	struct names *names;
	struct forest forest;	       /* one group a side in each bucket, finished */
	char *before, *after;	       /* the sides in words; NULL = baseline, candidate */
	double seconds[2];	       /* of each side, from its first request to its last, added up over what was read by itself */
	struct span_change change;
	struct span_saturation saturation; /* of what was judged */
	struct suspects suspects;      /* where versions were looked for */
	struct span_causes causes;     /* which requests became slower */
	struct span_errors errors;     /* by which types of errors more requests fail */
	struct descent descent;	       /* of the first that became slower, where that was asked */
	struct deployments deployments; /* that are known, by time */
	struct span_deployed deployed; /* of them those that may have made requests slower, the likeliest first */
	struct span_since changed;     /* where no version was to blame: since when all take longer; since 0 = they do not */
};

/* How many requests of a side (0 = before, 1 = after) began in a second, and how many ran at a time (Little's law). NaN: not known. */
double span_comparison_rate(const struct span_comparison *c, int side);
double span_comparison_at_a_time(const struct span_comparison *c, int side);
/* How many ran at a time before when as many began in a second as the candidate's. NaN: not known. */
double span_comparison_normal(const struct span_comparison *c);

/* "TimeoutError of payment POST /charge"; caller frees, NULL without memory. */
char *span_error_words(const struct names *names, const struct span_error *e);
/* "cart 2.3 at web-1, since 2026-11-20 14:02:07"; caller frees. */
char *span_deployed_words(const struct span_deployed_one *one);
