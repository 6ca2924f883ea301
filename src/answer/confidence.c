#include "answer/confidence.h"

#include <math.h>
#include <string.h>

/* Logistic regression on the lab's kept cases (docs/lab.md), by `lab/fit-confidence BUILD CASES`: fitted on every other kind
 * of scenario, ridge 1; the reliability on the kinds that were left out is in docs/lab.md. What it is made of:
 *
 *   log score     log10 of the first suspect's score, 0.001 .. 1
 *   second        the second one's score as a share of the first one's
 *   no past       1 = nothing to compare with
 *   no pressure   1 = no program had to wait much
 *
 * `answers`: how many it was fitted on. Fewer than ENOUGH are no calibration, and the answer states none. */
#define ENOUGH 30

static const struct {
	const char *model;
	unsigned answers;
	double constant, log_score, second, no_past, no_pressure;
} fitted[] = {
	{"blame", 237, 4.548, 0.362, -2.496, -2.102, 0.147},
};

double confidence_of(const struct answer *a)
{
	const struct suspect *s = a->ranking.suspects.v;
	double second;

	if (!a->slow || !a->ranking.suspects.n || !(s[0].score > 0))
		return NAN;
	second = a->ranking.suspects.n > 1 ? fmin(1, s[1].score / s[0].score) : 0;
	for (size_t i = 0; i < sizeof(fitted) / sizeof(fitted[0]); i++) {
		double sum;

		if (strcmp(fitted[i].model, a->ranking.method) != 0 || fitted[i].answers < ENOUGH)
			continue;
		sum = fitted[i].constant + fitted[i].log_score * log10(fmin(1, fmax(1e-3, s[0].score))) + fitted[i].second * second +
		      fitted[i].no_past * !a->has_history + fitted[i].no_pressure * !a->slow_since;
		return 1 / (1 + exp(-sum));
	}
	return NAN;
}

double confidence_adjusted(double stated, unsigned right, unsigned wrong, double expected)
{
	double odds, found, believed;

	if (isnan(stated) || !(right + wrong))
		return stated;
	odds = stated / fmax(1e-6, 1 - stated);
	found = (right + 1.0) / (wrong + 1.0);
	believed = (expected + 1.0) / (right + wrong - expected + 1.0);
	odds *= found / believed;
	return odds / (1 + odds);
}
