/* Is a rise of requests' times that of load? Made by spans/compare/span-saturation.h, shown by spans/ask. */
#pragma once

#include <stdint.h>

enum saturation_verdict {
	SATURATION_UNCLEAR, /* too few requests, or both sides at the same time */
	SATURATION_NORMAL,  /* as many run at a time as did at this throughput */
	SATURATION_LOAD,    /* they took as long before, when so many began */
	SATURATION_SLOWER,  /* more run at a time than did at this throughput */
	SATURATION_BEYOND,  /* there were never so many before: what is normal then is not known */
	SATURATION_GROWING, /* each takes longer than those before it: more begin than end */
};

struct span_saturation {
	enum saturation_verdict verdict;
	double rate[2];		/* requests that began in a second, before and after; NaN, as all below: not known */
	double most_before;	/* ... and how many at most did before, of 95 % of the time */
	double normal;		/* of those that run at a time after, the share that did before at the same throughput */
	double by_load;		/* share of the rise that requests took before at the candidate's throughput, 0 ... 1 */
	double first, last;	/* GROWING: times of the candidate's first and last requests by the line through all, before = 1 */
	uint32_t service;	/* text: that calls wait for longer than before; 0 = none */
	double wait_before, wait_after; /* ns a call until it begins and after it ended: its queue and the network */
	double calls[2];	/* of it that ran at a time */
};

const char *span_saturation_name(enum saturation_verdict verdict);
