/* Location and scale that a few wild values cannot move. All functions ignore NaN and give NaN for nothing. */
#pragma once

#include <stddef.h>

/* Sorts in place (NaN last) and returns how many are numbers. */
size_t robust_sort(double *values, size_t n);
/* For qsort() and bsearch() over doubles; NaN last. */
int robust_compare(const void *a, const void *b);
/* Quantile q in 0..1 of sorted values, linear between neighbors (Hyndman-Fan type 7). */
double robust_quantile(const double *sorted, size_t n, double q);
struct weighted_value {
	double value, weight;
};
/* For qsort(). */
int robust_compare_weighted(const void *a, const void *b);
/* Quantile q in 0..1 of n values sorted by value, weights > 0: each stands in the middle of its weight, linear between
 * neighbors. */
double robust_quantile_weighted(const struct weighted_value *sorted, size_t n, double q);
/* IQR / 1.349: the standard deviation of a Gaussian with that interquartile range. */
double robust_scale(const double *sorted, size_t n);
