/* An answer about a fleet as one page to hand on: no script, nothing from elsewhere. */
#pragma once

#include <stdio.h>

#include "fleet/model/fleet-view.h"

/* The sentence, the chain in the order of events, a curve for each of its counters next to the servers that do the same work, and the
 * lists of the answer (`top` of each, 0 = all). */
void fleet_page_html(const struct fleet *f, const struct fleet_page *page, size_t top, FILE *out);
