/* Deployments: version X of package P began at host Y at time T. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/data/vec.h"

#define DEPLOYMENTS_MAX 100000 /* of one list: a hundred hosts a day for years; further ones are refused */
#define DEPLOYMENT_TEXT_MAX 200 /* bytes of a package, version or host: longer ones are refused */

struct deployment {
	char *package, *version, *host; /* owned; host "" = everywhere, or not said */
	int64_t time;			/* wall ns */
};

struct deployments {
	VEC(struct deployment) list; /* in the order in which they were added, until deployments_sort() */
};

void deployments_free(struct deployments *d);
/* Copies the texts, without what a terminal would obey. 0, -ENOMEM, -E2BIG (too many, or a text too long), or -EINVAL: no package or no
 * version. */
int deployments_add(struct deployments *d, const char *package, const char *version, const char *host, int64_t time);
/* Copies all of `from`. 0, -ENOMEM or -E2BIG; then some of them may be there. */
int deployments_add_all(struct deployments *d, const struct deployments *from);
/* By time, then by text; equal ones are kept once. */
void deployments_sort(struct deployments *d);
