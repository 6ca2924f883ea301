/* Deployments: version X of package P began at host Y at time T; and the files and requests that list them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/data/vec.h"

#define DEPLOYMENTS_MAX 100000 /* of one list: a hundred hosts a day for years; further ones are refused */
#define DEPLOYMENTS_FILE_MAX ((size_t)64 << 20)
#define DEPLOYMENT_TEXT_MAX 200 /* bytes of a package, version, host or commit: longer ones are refused */

struct deployment {
	char *package, *version, *host, *commit; /* owned; "" = not given; no host = everywhere */
	int64_t time;				 /* wall ns */
};

struct deployments {
	VEC(struct deployment) list; /* in the order in which they were added, until deployments_sort() */
};

void deployments_free(struct deployments *d);
/* Copies the texts, without what a terminal would obey. 0, -ENOMEM, -E2BIG (too many, or a text too long), or -EINVAL: no package. */
int deployments_add(struct deployments *d, const struct deployment *one);
/* Copies all of `from`. 0, -ENOMEM or -E2BIG; then some of them may be there. */
int deployments_add_all(struct deployments *d, const struct deployments *from);
/* By time, then by text; equal ones are kept once. */
void deployments_sort(struct deployments *d);

/* The parts that a reader insists on besides the package. */
enum deployment_needs { DEPLOYMENT_NEEDS_VERSION, DEPLOYMENT_NEEDS_TIME };

/* Reads JSON, or a table with a header (delimited by commas, semicolons or tabs):
 *
 *   {"package": "cart", "version": "2.3", "host": "web-1", "commit": "5e1f", "time": "2026-11-20T14:02:07Z"}
 *
 * One, one on each line, a list, or {"deployments": [...]}. The names of semantic conventions and a few more do, too ("service",
 * "service.version", "host.name", "revision", "deployed_at"); a time is a text with or without a zone (UTC), or a number (s, ms, us, ns by
 * its size), and without one it is `now`. Adds all of them, or none: 0, -ENOMEM, or -EINVAL with *ret_error "NAME: byte N: ..." (caller frees). */
int deployments_parse(const char *name, const char *text, size_t n, enum deployment_needs needs, int64_t now, struct deployments *d, char **ret_error);
/* The same of a file, which may be packed; without a time it is when the file was last written, of a pipe now. -errno with *ret_error. */
int deployments_read(const char *path, enum deployment_needs needs, struct deployments *d, char **ret_error);
