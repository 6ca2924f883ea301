/* Fingerprints of incidents (after Bodik et al., "Fingerprinting the Datacenter", 2010): for each counter how unusual it was
 * at most on any server, and in which direction. Kept as JSON lines, compared by the cosine. */
#pragma once

#include "fleet/ask/fleet-why.h"

#define FINGERPRINT_COUNTERS 64 /* the most unusual ones */

/* Appends the answer's fingerprint. 0 or -errno; *ret_error (caller frees) says why the file cannot be written, else NULL. */
int fleet_incident_remember(const char *path, const char *name, const struct fleet *f, const struct fleet_answer *a, char **ret_error);
/* Those in the file, by similarity. A damaged line is left out. -ENOENT: none yet. */
int fleet_incidents_like(const char *path, const struct fleet *f, const struct fleet_answer *a, struct fleet_incidents *ret);
void fleet_incidents_free(struct fleet_incidents *i);
