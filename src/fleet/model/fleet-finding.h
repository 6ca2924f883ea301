/* The questions that analyses of a fleet take, and their findings. Views show it and compute nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/model/fleet.h"
#include "lib/data/vec.h"

/* Which property of a distribution is meant. */
enum fleet_statistic { FLEET_MEDIAN, FLEET_AVERAGE, FLEET_QUANTILE };

struct fleet_span {
	int64_t from, to; /* wall ns, [from, to) */
};

#define FLEET_LAG_BY_ROWS UINT32_MAX /* as long as the rows that are compared can tell */

struct fleet_findings;

struct fleet_question {
	const struct fleet *fleet;
	const struct fleet *reference; /* the "correct" dataset; NULL = the rest of `fleet` */
	const struct fleet *const *earlier; /* several runs before `fleet`, the reference among them (runs only); NULL = none */
	size_t n_earlier;
	struct fleet_span window;      /* what is to be explained, of `fleet` */
	struct fleet_span usual;       /* what it is compared with, of `reference` or `fleet`; without the window */
	const struct fleet_span *left_out; /* of the baseline time: known incidents; n_left_out of them */
	size_t n_left_out;
	enum fleet_statistic statistic;
	double quantile;  /* 0..1, with FLEET_QUANTILE */
	double threshold; /* only findings with at least this score; NaN = the analysis' own */
	int server, counter; /* the symptom (correlation, why), or the only ones looked at; -1 = all */
	bool spearman;	     /* correlation by ranks */
	uint32_t max_lag;    /* rows by which a counter may lead or follow; FLEET_LAG_BY_ROWS (explain only) */
	const struct fleet_findings *judged; /* explain: deviation's findings of the same question, to be used again; NULL = none */
	bool by_time;	     /* within: compare time points instead of servers */
	unsigned threads;    /* 0 = as many as CPUs */
};

enum fleet_finding_flags {
	FLEET_LEFT_ONLY_VALUE = 1, /* it had one value in all of the baseline time, and has another now */
	FLEET_REGIME_DIFFERS = 2,  /* it lies elsewhere all of the window, and did so when it began */
	FLEET_HIGHER = 4,
	FLEET_LOWER = 8,
	FLEET_PEER = 16, /* compared with servers of its role at the same time, not with its own past */
	FLEET_BETTER = 32, /* comparisons of runs: a fall of what is to be small, or the like */
	FLEET_WORSE = 64,
	FLEET_CALLED = 128, /* a call to it, which another server measured */
};

struct fleet_finding {
	int server;    /* -1 = all together */
	int counter;
	int measured_on; /* with FLEET_CALLED: the server that has the counter */
	int64_t time;  /* of a time point; INT64_MIN = the whole window */
	double score;  /* in the analysis' own measure; higher = more conspicuous */
	double observed, usual, spread;
	double shift, peak, jump, range; /* each in multiples of the baseline for windows of this length; NaN = not asked */
	double level; /* how far its level lies from the middle of levels, or climbs, in multiples of what three quarters of windows stray; NaN = too few rows */
	double r;      /* correlation; NaN = none */
	int lag;       /* rows by which it leads (positive) or follows (negative) the symptom */
	double p, q;   /* NaN = none can be given */
	double low, high; /* interval of the effect; NaN = none */
	double least, most; /* between which the rows lie that differ from normal; NaN = not asked */
	uint32_t n;    /* values that were compared */
	int64_t since; /* wall ns: when it began; 0 = not known */
	unsigned flags;
	const char *words; /* what rule it broke; belongs to the rule; NULL = none */
};

struct fleet_findings {
	const char *analysis;
	VEC(struct fleet_finding) list; /* highest score first */
	uint64_t looked_at;		/* pairs of server and counter, or of counter and time */
	uint64_t left_out;		/* had too few values */
	bool shortened;			/* of a long window a part was judged */
	const char *remark;		/* what must be known to judge it; NULL = nothing */
};

void fleet_findings_free(struct fleet_findings *f);
/* The server whose column a finding is about: the one that measures the calls to its server, or its own. */
int fleet_finding_column(const struct fleet_finding *x);
/* Highest first; NaN last; ties by counter, server, time: the order does not depend on how the input was ordered by
 * more than that. */
void fleet_findings_sort(struct fleet_findings *f);
/* All fields "not known", all servers and counters. */
extern const struct fleet_finding fleet_finding_empty;

/* Whether findings in the order in which they began, two or more, began within one row of each other: their order is not known. */
bool fleet_chain_is_together(const struct fleet *f, const struct fleet_finding *chain, size_t n);
