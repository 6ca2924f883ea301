/* A file of calls, for `fleet why --calls`. */
#pragma once

#include "fleet/model/fleet-calls.h"
#include "fleet/model/fleet.h"

/* Two forms: lines "CALLER,CALLEE" (a header may be there), or a matrix: a first line of names after an empty field, then a line for each
 * caller with its name and a number for each callee, 0 = it does not call it. Names that the fleet does not have are left
 * out. 0; -errno; -EINVAL: no call between servers of this fleet. *ret_error (caller frees) in words. */
int fleet_calls_read(const char *path, const struct fleet *f, struct fleet_calls *ret, char **ret_error);
