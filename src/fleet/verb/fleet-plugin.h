/* Sources and analyses from outside: a shared object made against include/whyslow-plugin.h. */
#pragma once

#include "fleet/model/fleet-finding.h"
#include "fleet/model/fleet-source.h"

/* Loads it for the rest of the process; what it has is then given by the two below. 0, -EINVAL (no plug-in, another version),
 * *ret_error (caller frees) in words. */
int fleet_plugin_open(const char *file, char **ret_error);
/* NULL = none was loaded, or it has none. */
const struct fleet_source *fleet_plugin_source(void);
const char *fleet_plugin_analysis(void);
int fleet_plugin_run(const struct fleet_question *q, struct fleet_findings *ret, char **ret_error);
