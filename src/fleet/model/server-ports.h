/* host:9100 and host:8080 are one machine: what several exporters of it report belongs to one server. */
#pragma once

#include "fleet/model/fleet.h"

/* Joins servers HOST:PORT of one HOST into a server HOST, where they are different exporters: of different jobs, or where most counters of each are its
 * own. A counter that several of them have keeps its port as a label. Replicas of one program stay as they are. `jobs`: by server, or NULL; one that
 * is joined away is freed and the rest moves up, as servers do. 0 or -ENOMEM. */
int server_ports_join(struct fleet *f, char **jobs, size_t n_jobs);
