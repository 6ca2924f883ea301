/* A loaded fleet in one SQLite file, to be opened again at once.
 *
 * Times and columns are kept as byte planes under zstd, one row a counter and 8 MB, so that a view of one counter reads one
 * counter, and all are decompressed on several cores.
 */
#pragma once

#include <stdbool.h>

#include "fleet/model/fleet.h"

/* Writes a new file (replacing one that is a fleet's). 0 or -errno with *ret_error (caller frees) in words. */
int fleet_store_write(const struct fleet *f, const char *path, char **ret_error);
/* Whether a file is such a store. */
bool fleet_store_is(const char *path);
/* `wanted` (a shell pattern; NULL = all): only these counters have columns; all are listed. The caller frees *ret with
 * fleet_free() and free(). */
int fleet_store_open(const char *path, const char *wanted, struct fleet **ret, char **ret_error);
