/* Findings as JSON: what why, board and others print in the same way. Every function returns a new reference, or NULL without
 * memory. */
#pragma once

#include <jansson.h>

#include "lib/view/json.h"
#include "machine/findings/finding.h"

/* "ns/s" for a counter in ns. */
json_t *finding_unit_json(const struct feature *f);
json_t *finding_deviation_json(const struct deviation *f);
json_t *finding_pressure_json(const struct pressure *p);
