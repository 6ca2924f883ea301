/* How much of a bucket's change is that other requests were asked for, and how much that the same ones take longer.
 *
 * Kitagawa's decomposition (1955) over the values of an attribute: mix = sum of (share after - share before) x mean before,
 * within = sum of share after x (mean after - mean before); both add up to the change of the mean. Attributes whose shares
 * moved beyond chance and that move the mean are taken one after another, the one that moves it most first, and their
 * combinations are the strata. An attribute whose values the baseline does not know (a version, a host) says nothing of the
 * mix; one that is an outcome (a status) is none of what was asked for.
 */
#pragma once

#include "spans/compare/span-division.h"
#include "spans/forest/forest.h"
#include "spans/model/span-change.h"

/* 0 or -ENOMEM. */
int span_mix_find(const struct forest *f, const struct forest_group *before, const struct forest_group *after, struct span_mix *ret);

/* The same by given attributes, whether their shares moved or not: requests of each kind are held against their own kind, so that the
 * differences between kinds do not add to the chance of the mean. */
struct span_within {
	double within, error, freedom; /* as above */
	double mean;	      /* ns, of the baseline at the candidate's shares of kinds */
	double p_shares;      /* chance that the kinds' shares within their pairs differ as much */
};
/* Kinds are of one pair each, and those that one side lacks do not count. 1 = done, 0 = the sides have too few kinds in common, -ENOMEM. */
int span_mix_within(const struct forest *f, const struct span_pair *pairs, size_t n, const uint32_t *keys, size_t n_keys, struct span_within *ret);
