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

int compare_weighted(const void *a, const void *b)
{
	double x = ((const struct weighted_value *)a)->value, y = ((const struct weighted_value *)b)->value;

	return x < y ? -1 : x > y;
}

double quantile_weighted(const struct weighted_value *sorted, size_t n, double q)
{
	double total = 0, below = 0, last = 0;

	for (size_t i = 0; i < n; i++)
		total += sorted[i].weight;
	for (size_t i = 0; i < n; i++) {
		double middle = below + sorted[i].weight / 2, want = q * total;

		if (middle >= want)
			return i == 0 ? sorted[0].value :
					sorted[i - 1].value + (sorted[i].value - sorted[i - 1].value) * (want - last) / (middle - last);
		below += sorted[i].weight;
		last = middle;
	}
	return n ? sorted[n - 1].value : NAN;
}
