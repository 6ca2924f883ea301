/* Two means, and p-values. */
#pragma once

#include <stddef.h>

struct sample_moments {
	double n; /* effective number of samples */
	double mean;
	double variance; /* of the population (divided by n); the functions correct it */
};

/* Welch's t (1947) of b against a; *ret_df (may be NULL) by Satterthwaite. NaN if either has fewer than two samples, or
 * neither varies and the means are equal; infinite if neither varies and they differ. */
double welch_t(const struct sample_moments *a, const struct sample_moments *b, double *ret_df);
/* Two-sided p of Student's t. */
double welch_student_p(double t, double df);
/* Two-sided p of a Gaussian. */
double welch_normal_p(double z);
/* The chance of at least k of n, each of them with the chance `share` (DLMF 8.17.5); neither need be whole. */
double welch_binomial_p(double k, double n, double share);
/* Two-sided p of the Mann-Whitney test when the share of pairs in which b is greater (ties half) is `superiority`. */
double welch_mann_whitney_p(double superiority, double n_a, double n_b);
/* (x - median) / (1.4826 MAD) of x against the n others, with the MAD at least `floor`. Sorts. NaN of nothing. */
double welch_mad_z(double x, double *others, size_t n, double floor);
