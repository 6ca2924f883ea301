/* Six quantiles and two moments of a series: small enough to keep for every series of every ten minutes, and
 * mergeable.
 *
 * The distribution between two neighboring quantiles is taken as uniform (a piecewise linear CDF; equal
 * neighbors are a jump). A merge is the mixture of the parts, weighted by n. Moments merge exactly. A merged
 * quantile is off by at most `error` in rank: each part's CDF is known at its own six points, and between two
 * of them to within their distance; merges of merges add up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define QUANTILES 6
extern const double quantile_rank[QUANTILES]; /* 0 (the least), .25, .5, .75, .99, 1 (the greatest) */

struct distribution {
	double n; /* weight: how many moments */
	double mean, variance;
	double q[QUANTILES];
	double error; /* in rank, 0..1; 0 for one that was not merged */
};

/* A value and how often it occurred. */
struct weighted {
	uint16_t code; /* quantiles_code() */
	uint32_t weight;
};

/* 16 bits for a value: sign, exponent and six bits of a float, rounded; within 0.8 % (2^-7), ascending as
 * values do. */
#define VALUE_ZERO 0x4000 /* the code of 0 */
uint16_t quantiles_code(double value);
double quantiles_value(uint16_t code);

/* Quantiles of values, each the least value with at least its rank below or at it. Sorts in place; `room` has
 * n places as well. n > 0 and not all weights 0. */
void quantiles_of(struct weighted *values, struct weighted *room, size_t n, double q[QUANTILES]);

/* Share of values at or below x; below x with `before`. */
double distribution_cdf(const struct distribution *d, double x, int before);
/* The mixture of n > 0 parts with some weight. 0 or -ENOMEM. */
int distribution_merge(const struct distribution *parts, size_t n, struct distribution *ret);
