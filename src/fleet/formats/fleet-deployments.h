/* A file of deployments, for `fleet why --deployments`. */
#pragma once

#include "fleet/model/fleet-deployment.h"

/* Three forms: a JSON list of objects, one object on each line, or a table with a header. Names: service (package, component), version, commit
 * (commit_sha, revision, sha), time (timestamp, at, deployed_at). A deployment needs a service and a time. In the order of the file. 0; -errno;
 * -EINVAL: not of such a form. *ret_error (caller frees) in words. */
int fleet_deployments_read(const char *path, struct fleet_deployments *ret, char **ret_error);
void fleet_deployments_free(struct fleet_deployments *d);
