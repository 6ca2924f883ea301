/* Deployments at the time when requests became slower, the likeliest cause first.
 *
 * Of the deployments that began shortly before the candidate's requests did, or while they ran, each package and version is one
 * candidate with all its hosts. It is ranked by the share of the rise that the package's calls (and the way to them) have; a package that
 * these requests do not call (a kernel, an agent) comes behind those with a share. Of equals the later one is first: it is nearer.
 */
#pragma once

#include "analysis/span/span-change.h"
#include "model/fleet/deployment.h"

#define DEPLOYED_LEAD (900ll * 1000000000) /* ns: how long before the requests a deployment may have begun, at least */
#define DEPLOYED_MOST 20 /* candidates: beyond, the ones that explain least are left out */

struct span_deployed_one {
	const struct deployment *first; /* lent: of the list; the earliest of this package and version */
	char *hosts;	  /* "web-1, web-2 and 3 others"; "" = not said */
	size_t n_hosts;
	double share;	  /* of the rise, 0 ... 1; NaN: no call of these requests is the package's */
	bool slow_host;	  /* it began on the one host that is slower than the others */
};

struct span_deployed {
	VEC(struct span_deployed_one) list;
};

/* `f` has the two sides, finished; `c` is of it; `d` is sorted. 0 or -ENOMEM. */
int span_deployed_rank(const struct forest *f, const struct span_change *c, const struct deployments *d, struct span_deployed *ret);
void span_deployed_free(struct span_deployed *d);
/* "cart 2.3 at web-1, since 2026-11-20 14:02:07"; caller frees. */
char *span_deployed_words(const struct span_deployed_one *one);
