/* Comparisons by rank. */
#pragma once

#include <stddef.h>

/* Two-sided p of the Mann-Whitney U test by the normal approximation with tie correction (Mann, Whitney 1947; Lehmann
 * 1975). Both arrays are sorted in place. *ret_superiority (may be NULL) = P(b > a) + P(b = a)/2. NaN if either is
 * empty; 1 where all values are equal. */
double rank_mann_whitney(double *a, size_t n_a, double *b, size_t n_b, double *ret_superiority);

/* Benjamini-Hochberg (1995): turns p-values into q-values in place, order kept. 0 or -ENOMEM. */
int rank_benjamini_hochberg(double *p, size_t n);
