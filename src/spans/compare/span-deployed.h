/* Deployments at the time when requests became slower, the likeliest cause first.
 *
 * Of the deployments that began shortly before the candidate's requests did, or while they ran, each package and version is one
 * candidate with all its hosts. It is ranked by the share of the rise that the package's calls (and the way to them) have; a package that
 * these requests do not call (a kernel, an agent) comes behind those with a share. Of equals the later one is first: it is nearer.
 */
#pragma once

#include "spans/compare/span-change.h"
#include "lib/input/deployments.h"
#include "spans/model/span-finding.h"

#define DEPLOYED_LEAD (900ll * 1000000000) /* ns: how long before the requests a deployment may have begun, at least */
#define DEPLOYED_MOST 20 /* candidates: beyond, the ones that explain least are left out */

/* `f` has the two sides, finished; `c` is of it; `d` is sorted. 0 or -ENOMEM. */
int span_deployed_rank(const struct forest *f, const struct span_change *c, const struct deployments *d, struct span_deployed *ret);
void span_deployed_free(struct span_deployed *d);
