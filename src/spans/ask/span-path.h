/* The critical path of a bucket, call path by call path: `whyslow spans path`. */
#pragma once

#include "spans/model/span-answer.h"

/* The path of a group of a finished forest. 0 or -ENOMEM. */
int span_path_find(const struct forest *f, const struct forest_group *g, bool sdiag, struct span_path *ret);
void span_path_free(struct span_path *p);
