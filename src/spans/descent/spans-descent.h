/* From slow requests down to the machines: which host, process and time a request waited at, and what the recorder of that host says
 * of it (fleet/watch/host-recorders.h). */
#pragma once

#include "spans/ask/spans.h"
#include "spans/descent/descent.h"

/* Asks about the calls at that vertex (NO_VERTEX: at any) that took most of the request. 0, -EINVAL (said), -ENOMEM. */
int spans_descend(const struct common *common, const struct spans_query *q, const struct forest *f, const struct exemplar *request,
		  uint32_t vertex, struct descent *ret);
