/* Requests to look at: some of a forest's sample, those that are stored whole first. */
#pragma once

#include "spans/model/span-finding.h"

typedef bool (*span_example_fn)(void *state, const struct bucket *b, const struct forest_group *g, const struct sampled_request *r);

void span_examples_free(struct cause_trace *v, size_t n);
/* Up to CAUSE_TRACES of those that agree; their ids are the caller's to free, after an error, too. 0 or -ENOMEM. */
int span_examples_find(const struct forest *f, span_example_fn agrees, void *state, struct cause_trace ret[CAUSE_TRACES], size_t *ret_n);
