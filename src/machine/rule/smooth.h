/* Smoothing of the last samples of one value. */
#pragma once

#include <stddef.h>

#include "machine/rule/rule.h"

struct smoother {
	unsigned n, next; /* filled, and where the next one goes */
	double values[SMOOTHING_MAX];
};

/* Takes a value and gives the smoothed one of the last `samples`, as many as there are yet. Without outliers:
 * the average of those within 3 * 1.4826 median absolute deviations of the median. */
double smooth(struct smoother *s, enum rule_smoothing kind, unsigned samples, double value);
