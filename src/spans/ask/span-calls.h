/* Who calls whom: `whyslow spans calls`. */
#pragma once

#include "spans/model/span-answer.h"

/* Services by all calls; hosts by the requests that are stored whole, where each call has its two ends. Both add to *c. 0 or -ENOMEM. */
int span_calls_services(const struct forest *f, struct span_calls *c);
int span_calls_hosts(const struct forest *f, struct span_calls *c);
void span_calls_free(struct span_calls *c);
