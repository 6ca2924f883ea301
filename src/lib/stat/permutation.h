/* Exact tests of small experiments: every way in which the phases could have been drawn is counted. */
#pragma once

#include <stddef.h>

#define PERMUTATION_MAX 16 /* phases: beyond it the assignments are too many to count */

/* One-sided exact permutation test (Fisher 1935): the share of all assignments of the n_a + n_b values to two
 * groups of these sizes whose difference of means, a - b, is at least the observed one; the observed one
 * counts, so that of 4 and 4 the smallest is 1/70. NaN where a group is empty, or there are more than
 * PERMUTATION_MAX values. */
double permutation_p(const double *a, size_t n_a, const double *b, size_t n_b);

struct shift {
	double estimate;  /* Hodges, Lehmann 1963: the median of all n_a * n_b differences a - b */
	double low, high; /* of the interval */
	double coverage;  /* what the interval really covers, 0..1: the least that is not below what was asked
			   * for, or, where  the groups are too small for that, the most that can be used */
};
/* The shift of a against b, with the interval of the exact Mann-Whitney test (Moses 1953). 0; -EDOM where
 * permutation_p() is NaN; -ENOMEM. */
int shift_find(const double *a, size_t n_a, const double *b, size_t n_b, double coverage, struct shift *ret);
/* Chooses which k of n phases are of the first kind, each choice as likely as the others; ret: n flags.
 * `random` gives 64 independent bits a call. n <= PERMUTATION_MAX. */
void permutation_choose(size_t n, size_t k, unsigned long long (*random)(void *data), void *data,
		   unsigned char *ret);
