#include "stat/robust.h"

#include <math.h>
#include <stdlib.h>

int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	if (isnan(x) || isnan(y))
		return isnan(x) - isnan(y);
	return x < y ? -1 : x > y;
}

size_t sort_values(double *values, size_t n)
{
	if (n)
		qsort(values, n, sizeof(*values), compare_values);
	while (n && isnan(values[n - 1]))
		n--;
	return n;
}

double quantile_sorted(const double *sorted, size_t n, double q)
{
	double at = q * (double)(n ? n - 1 : 0);
	size_t below = (size_t)at;

	if (!n)
		return NAN;
	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double iqr_scale_sorted(const double *sorted, size_t n)
{
	return (quantile_sorted(sorted, n, 0.75) - quantile_sorted(sorted, n, 0.25)) / 1.349;
}
