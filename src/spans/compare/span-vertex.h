/* One vertex of a bucket on both sides: what it added to the critical path, and by what (enum span_reason). */
#pragma once

#include "lib/stat/welch.h"
#include "spans/compare/span-change.h"

/* Appends it to c->vertices, and what it gained or lost to the bucket's; nothing where neither side calls it. 0 or -ENOMEM. */
int span_change_vertex(const struct forest *f, struct bucket_change *c, uint32_t vertex);
/* Exclusive time of a call, ns; NaN where there is none. */
double span_vertex_mean(const struct cell *c);
/* For Welch's test: by effective requests. */
struct sample_moments span_vertex_sample(const struct moments *m);
