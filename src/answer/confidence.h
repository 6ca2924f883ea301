/* How sure an answer is that its first suspect is the one. */
#pragma once

#include "model/finding.h"

/* Estimated probability that the first suspect is right, 0..1; NaN for an answer that names nobody, or of a model that it was
 * not fitted for. */
double confidence_of(const struct answer *a);
/* With what the users of this machine said of earlier answers: so many were right and wrong, of which so many were expected
 * to be right (the sum of what was stated). Odds are multiplied by (right + 1) / (wrong + 1) over what was expected of both,
 * so that a few verdicts change little. */
double confidence_adjusted(double stated, unsigned right, unsigned wrong, double expected);
