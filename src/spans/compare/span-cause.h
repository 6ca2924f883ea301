/* Which requests became slower: the combinations of attributes that identify and explain it, whatever the buckets are made of.
 *
 * SDiag (section 4) leaves it as future work to find by what to bucket. Here requests are distinguished by all attributes of
 * their roots, processes, inventories and versions at once (the forest's leaves). What each kind of request would have taken is
 * reported by the baseline: its own mean, leaning on the product of what each attribute does by itself where it was seen little.
 * attributes_search() then looks for what moved; sums of durations are scaled to have a count's variance, so that a kind with
 * few requests says little. Attributes that are finer than that, the same everywhere, the same as another, or all new on the
 * candidate's side are not looked at.
 */
#pragma once

#include "spans/attribute/attributes.h"
#include "spans/forest/forest.h"
#include "spans/model/span-finding.h"

#define CAUSE_LEAST 0.2 /* of the rise explained, below which it is not reported as a cause */

/* Attributes of calls count where those of whole requests explain less than half. `f` has the two sides as span_sides_of() makes them, finished. Without attributes to look at, or with too few requests,
 * looked_at is empty. 0 or -ENOMEM. */
int span_causes_find(const struct forest *f, bool version_is_known, struct span_causes *ret);
void span_causes_free(struct span_causes *c);
