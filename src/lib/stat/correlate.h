/* Pearson and Spearman over pairs of which either may be missing (NaN). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct correlation {
	double r; /* NaN: fewer than three pairs, or one side is constant */
	uint32_t n;
};

/* Pearson's r of n pairs (x[i], y[i]). */
struct correlation correlate_pearson(const float *x, const float *y, size_t n);
/* Replaces values by their ranks (ties get their mean rank; NaN stays): Pearson over ranks is Spearman. `order` has n
 * places. */
void correlate_rank(float *v, size_t n, uint32_t *order);

struct lagged {
	double r; /* of the lag with the largest |r| */
	int lag;  /* rows by which y leads x: y[i - lag] goes with x[i] */
	uint32_t n;
};
/* Over lags -most .. most; lag 0 where nothing is better by more than 0.01. */
struct lagged correlate_lagged(const float *x, const float *y, size_t n, uint32_t most);
/* How often a circularly shifted x does as well over all lags: p = (1 + as well) / (1 + shifts), over at most `shifts`
 * shifts that are spread evenly and farther than the lags. Shifts keep each series' autocorrelation, which the normal p
 * does not know of. NaN if n is too small for ten of them. `room` has 2n places. */
double correlate_shift_p(const float *x, const float *y, size_t n, uint32_t most, uint32_t shifts, double r, float *room);
