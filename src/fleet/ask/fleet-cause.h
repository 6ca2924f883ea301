/* Which cause of the catalogue (machine/rule/cause.h) a server's unusual counters tell of. */
#pragma once

#include "fleet/model/fleet-finding.h"
#include "machine/rule/cause.h"

/* The cause whose patterns all match unusual counters of the server of `named` (score >= enough), and one of them `named` itself, or
 * `symptom` where it is of the same server: a cause is of what the answer names, not of what else is unusual there. NULL = none. */
const struct cause *fleet_cause_find(const struct causes *c, const struct fleet *f, const struct fleet_findings *unusual,
					const struct fleet_finding *named, const struct fleet_finding *symptom, double enough);
