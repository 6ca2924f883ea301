/* Which servers do the same work, as far as a source can tell by labels and names. */
#pragma once

#include "fleet/model/fleet.h"

#define SERVER_STEM_MIN 4 /* servers of one name: fewer cannot outvote one that is ill */

/* A server's name without what tells one of many from the next (web-01, web-02; frontend-579b9bff58-t2dbm). The caller frees;
 * NULL without memory. */
char *server_role_stem(const char *name);

/* Whether the stem of a name says anything: addresses (10.0.0.7:9100) leave no letters. */
bool server_role_stem_tells(const char *stem);

/* Gives each server without a role one that is made of its job. Jobs: the caller's, of the first `n_jobs` servers; NULL = none.
 *
 * A job (Prometheus' label) names who measures: node_exporter is one job on hosts of all kinds. Where SERVER_STEM_MIN servers of a job
 * share a stem, and not all of the job do, the role is the job and the stem ("node web"); else it is the job. A role that all servers of
 * the fleet have is treated as a job. 0 or -ENOMEM. */
int server_role_settle(struct fleet *f, char *const *jobs, size_t n_jobs);
