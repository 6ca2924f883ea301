#include "machine/rule/smooth.h"

#include <math.h>

static double median_of(const double *values, unsigned n)
{
	double sorted[SMOOTHING_MAX];

	for (unsigned i = 0; i < n; i++) {
		unsigned at = i;

		for (; at && sorted[at - 1] > values[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = values[i];
	}
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double average_of(const double *values, unsigned n, double middle, double reach)
{
	unsigned kept = 0;
	double sum = 0;

	for (unsigned i = 0; i < n; i++) {
		if (fabs(values[i] - middle) > reach)
			continue;
		sum += values[i];
		kept++;
	}
	return sum / kept;
}

static double without_outliers(const double *values, unsigned n)
{
	double middle = median_of(values, n), away[SMOOTHING_MAX] = {}, reach;

	for (unsigned i = 0; i < n; i++)
		away[i] = fabs(values[i] - middle);
	reach = 3 * 1.4826 * median_of(away, n);
	/* where most values are equal there is no spread to judge by: those equal ones are what is left */
	return reach > 0 ? average_of(values, n, middle, reach) : middle;
}

double smooth(struct smoother *s, enum rule_smoothing kind, unsigned samples, double value)
{
	if (samples < 1 || samples > SMOOTHING_MAX || kind == SMOOTHING_NONE)
		return value;
	s->values[s->next] = value;
	s->next = (s->next + 1) % samples;
	if (s->n < samples)
		s->n++;
	if (kind == SMOOTHING_AVERAGE)
		return average_of(s->values, s->n, 0, INFINITY);
	return kind == SMOOTHING_MEDIAN ? median_of(s->values, s->n) : without_outliers(s->values, s->n);
}
