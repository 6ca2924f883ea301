/* Requests that were stored whole, as trees are read: `whyslow spans exemplars`. */
#pragma once

#include "spans/model/span-answer.h"

/* request: its lent fields. 0 or -ENOMEM. */
int span_outline_make(const struct span_outline *request, struct span_outline *ret);
void span_outline_free(struct span_outline *o);
