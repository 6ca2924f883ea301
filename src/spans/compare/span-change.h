/* Two sets of requests side by side: which bucket became slower, where on its critical path the milliseconds went, and
 * by what: slower calls, more calls, retries, calls one after another that were side by side, a single slow host.
 *
 * Both sets are the two groups of each bucket of one forest (spans/compare/span-sides.h), so that vertices are the same. With
 * the rule 'tolerant' or 'strict' the vertices' shares of the critical path add up to the change of the mean exactly.
 */
#pragma once

#include "spans/compare/span-mix.h"
#include "spans/compare/span-sides.h"
#include "spans/compare/span-slow.h"
#include "spans/model/span-change.h"

/* `f` is finished and outlives *ret; least: as in *ret, 0 = SPAN_TOLERANCE; level: chance of a false alarm, 0 = SPAN_Q. 0 or -ENOMEM. */
int span_change(const struct forest *f, double least, double level, struct span_change *ret);
void span_change_free(struct span_change *c);
/* Twice the smaller p of Welch's test of means and of the rank test (superiority = P(after > before) + half of equal). */
double span_change_p(const struct moments *before, const struct moments *after, double superiority);
