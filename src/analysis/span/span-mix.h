/* How much of a bucket's change is that other requests were asked for, and how much that the same ones take longer.
 *
 * Kitagawa's decomposition (1955) over the values of an attribute: mix = sum of (share after - share before) x mean before,
 * within = sum of share after x (mean after - mean before); both add up to the change of the mean. Attributes whose shares
 * moved beyond chance and that move the mean are taken one after another, the one that moves it most first, and their
 * combinations are the strata. An attribute whose values the baseline does not know (a version, a host) says nothing of the
 * mix; one that is an outcome (a status) is none of what was asked for.
 */
#pragma once

#include "timeline/forest/forest.h"

#define MIX_KEYS 3 /* attributes that are combined */

struct span_mix {
	uint32_t keys[MIX_KEYS]; /* texts */
	size_t n_keys;		 /* 0 = no attribute's mix moved the mean: the rest is not set */
	double mix, within;	 /* ns of the mean */
	double error;		 /* standard error of within, ns */
	uint32_t value;		 /* text: of keys[0], the one whose share moved most; 0 = has none */
	double share_before, share_after; /* of that value */
};

/* 0 or -ENOMEM. */
int span_mix_find(const struct forest *f, const struct group *before, const struct group *after, struct span_mix *ret);

/* Whether durations spread more than before: a tail of some requests raises the variance among requests of one kind, where the quantiles of
 * all kinds together hide it. Kinds are strata by the attributes that tell durations apart. Their squared coefficients of variation are
 * compared by logarithm, whose variance is (kurtosis - 1) (1/n + 1/n') (Kendall and Stuart, The Advanced Theory of Statistics, 10.15).
 * kurtosis: of all requests of both sides; that of a log-normal stratum is the least that is taken. 0 or -ENOMEM. */
struct span_spread {
	double sum, weight; /* of the logarithms, each over its variance; 0: too few requests are of kinds that both sides have */
};
int span_spread_find(const struct forest *f, const struct group *before, const struct group *after, double kurtosis, struct span_spread *ret);
/* How many times as great the coefficient of variation is; 1 where it is not known. */
double span_spread_times(const struct span_spread *s);
/* Two-sided; 1 where they spread less. */
double span_spread_p(const struct span_spread *s);
