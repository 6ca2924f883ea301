/* From slow requests down to the machines: which request, and which of its calls to ask about. */
#pragma once

#include "spans/model/span-finding.h"

#define DESCENT_PLACES 3 /* of one request: the calls that took most of it */

/* The request to look at among those that have this vertex: the latest of those that spent nearly as much there as the one that spent
 * most, as a recorder forgets. NULL: none was stored whole. */
const struct exemplar *descent_choose(const struct forest_group *g, uint32_t vertex);
/* The request of that id; NULL: it is not stored whole. */
const struct exemplar *descent_request(const struct forest *f, const char *id);
/* The calls at that vertex (NO_VERTEX: at any) that took most of the request by themselves, one a process; their answers are empty.
 * 0 or -ENOMEM. */
int descent_find_places(const struct exemplar *request, uint32_t vertex, struct descent *d);
