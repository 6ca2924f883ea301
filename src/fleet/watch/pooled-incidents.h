/* Incidents and feedback of many machines: those in recordings that were brought into one folder (HOST.db). */
#pragma once

#include "fleet/model/pooled-incidents.h"

/* Reads a folder, a file or a glob; from..to wall ns. `window`: of answers that were not saved. 0; -ENOENT: no recording is there; -ENOMEM. */
int pooled_incidents_read(const char *location, int64_t from, int64_t to, int64_t window, struct pooled_incidents *ret);
void pooled_incidents_free(struct pooled_incidents *p);
