/* From slow requests down to the machines: which host, process and time a request waited at, and what the recorder of that host says
 * of it (daemon/fleet/host-recorders.h). */
#pragma once

#include <jansson.h>

#include "base/data/vec.h"
#include "cmd/verbs/verb.h"
#include "daemon/fleet/host-recorders.h"
#include "timeline/forest/forest.h"

#define DESCENT_PLACES 3 /* of one request: the calls that took most of it */

/* A call of a request on its host. */
struct descent_place {
	const struct exemplar *request;
	const struct exemplar_span *span;
	struct host_answer machine, program; /* why it was slow then; why the process was */
};

struct descent {
	const struct forest *forest; /* lent, as all that places point to */
	VEC(struct descent_place) places;
};

/* The request to look at among those that have this vertex: the latest of those that spent nearly as much there as the one that spent
 * most, as a recorder forgets. NULL: none was stored whole. */
const struct exemplar *descent_choose(const struct group *g, uint32_t vertex);
/* The calls at that vertex (NO_VERTEX: at any) that took most of the request by themselves; asks about each. 0, -EINVAL (said), -ENOMEM. */
int descend(const struct common *common, const struct forest *f, const struct exemplar *request, uint32_t vertex, struct descent *ret);
void descent_print(const struct descent *d);
json_t *descent_json(const struct descent *d);
void descent_free(struct descent *d);
