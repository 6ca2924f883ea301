/* Whether more requests take long for their kind: some requests became slower, and the mean of all of them hardly moves.
 *
 * Requests of the sample are divided into kinds by their pair and the attributes that tell their durations apart (whichever side they are on). What each
 * takes is held against the geometric mean of its kind, both sides together. How many of the candidate's are beyond a quantile of
 * that is held against chance within the kinds: there it is hypergeometric, a sum of independent events (Vatutin and Mikhailov, 1982), and
 * so is the sum over the kinds. The chance that this sum is so far above its mean is at most that of a binomial variable of the same mean
 * (Hoeffding, 1956), which is the p here: it needs no approximation for small numbers.
 */
#pragma once

#include "spans/compare/span-division.h"
#include "spans/forest/forest.h"
#include "spans/model/span-change.h"

/* keys: attributes by which kinds are distinguished wherever both sides have these kinds, texts; least: what the candidate's may take longer,
 * 0.05 = 5 %. 0 or -ENOMEM. */
int span_slow_find(const struct forest *f, const struct span_pair *pairs, size_t n, const uint32_t *keys, size_t n_keys, double least,
		   struct span_slow *ret);
