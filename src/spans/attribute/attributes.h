/* Which combinations of attribute values identify and explain a change ("hardware = gen5 and version = 1.4").
 *
 * A leaf is a full combination of values with what was observed and what was expected of it: a sum (an additive
 * metric), or a numerator with its denominator (a ratio). An element fixes some attributes; its leaves are those that
 * agree. Of each leaf the loss or gain r = (observed - expected) / max(observed, expected) lies in -1..1.
 *
 * Three things may have made a leaf: noise, N(0, s^2), where s is learnt from the leaves that go the other way than the
 * change; a whim of its own (uniform, at the rate that quiet times show); or a cause, which moves most leaves of its
 * element alike, N(mean, spread^2). The score of an element is the log likelihood that it is a cause over the first
 * two, less the logarithm of how many elements there were to choose from: so it is a significance test that knows of
 * its multiplicity, prefers few attributes, and is dearer for the coarse (unmoved leaves) than for the fine (moved
 * leaves left outside). The best is taken, its leaves are set aside, and so on: what is found explains the change.
 *
 * Compare: RiskLoc (Kalander 2022), RobustSpot (2021), Squeeze's ripple effect (Li et al., ISSRE 2019), the scan
 * statistic (Kulldorff 1997).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/vec.h"
#include "spans/model/attribute-finding.h"

/* What leaves do in quiet times. */
struct leaf_quiet {
	double noise;	 /* standard deviation of r next to counting noise; NaN = not known: learnt from the leaves that go
			  * the other way than the change */
	double counting; /* variance of a count over its mean; NaN likewise */
	double whims;	 /* share of leaves that move by themselves; 0 = not known */
};

struct leaf_table {
	size_t n;
	unsigned attributes;
	const uint32_t *codes;	/* n x attributes: the value, 0 .. 2^31 */
	const double *observed; /* >= 0 */
	const double *expected; /* >= 0 */
	const double *exposure; /* denominators now; NULL for an additive metric */
	bool counts;		/* observed are counts of events: their Poisson noise is known */
	struct leaf_quiet quiet;
};

enum change_direction { CHANGE_AUTO, CHANGE_UP, CHANGE_DOWN }; /* AUTO: as the total goes */

/* What one leaf's count is off by, over what counting makes it: r over the signed root of the Poisson deviance. */
double attributes_count_spread(double observed, double expected);
/* (observed - expected) / the greater of the two; 0 of nothing. */
double attributes_relative_change(double observed, double expected);

struct attribute_options {
	enum change_direction direction;
	unsigned depth; /* attributes of one element at most; 0 = as many as the time allows */
	unsigned most;	/* elements returned at most; 0 = 16 */
};

/* 0, -ENOMEM, -EINVAL (too many attributes, nothing to compare). `changed` and no elements: the cause is not among
 * these attributes. */
int attributes_search(const struct leaf_table *t, const struct attribute_options *o, struct attribute_findings *ret);
void attribute_findings_free(struct attribute_findings *f);

/* What is expected of each leaf of the last of several slices of time, from those before it.
 *
 * Slices in which the whole was already raised are left out (more than a quarter above the median slice). A leaf's
 * expectation leans on the whole where it was seen little. Of a ratio, what leaves do in quiet times is
 * measured: each kept slice against the others. numerator and denominator: slices x n, NaN = not there; denominator
 * NULL for additive metrics. 0, -ENOMEM, -EINVAL without a slice to compare with. */
int attributes_expect(const double *numerator, const double *denominator, size_t slices, size_t n, double *expected,
		      struct leaf_quiet *ret_quiet);
