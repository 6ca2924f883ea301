/* A fleet's counters as rows of ClickHouse: the tables of docs/clickhouse.md. */
#pragma once

#include "fleet/model/fleet.h"

/* Writes a fleet into the table of `url` (lib/net/clickhouse.h): makes it (Distributed over `cluster` of the URL where it names one) if it is not
 * there. 0, or -errno with *ret_error (caller frees). */
int fleet_save(const char *url, const char *credentials_file, const char *ca_file, const struct fleet *f, char **ret_error);
