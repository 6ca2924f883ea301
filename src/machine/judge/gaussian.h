#pragma once

/* "each process that has more than a minimal number of non-constant features (10 in our experiments)" */
#define GAUSSIAN_MIN_FEATURES 10

/* Natural logarithm of the density; sd > 0. */
double gaussian_log_likelihood(double x, double mean, double sd);
