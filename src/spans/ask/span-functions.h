/* Calls by function (service, operation), by any caller and in any bucket: `whyslow spans forest --functions`. */
#pragma once

#include "spans/forest/bucket-choice.h"
#include "spans/model/span-answer.h"

/* Both add to *f, whose names are set. 0 or -ENOMEM. */
int span_functions_add(struct span_functions *f, const struct forest *forest, const struct bucket_choice *choice);
int span_functions_add_bin(struct span_functions *f, const struct span_function_bin *bin);
/* Those that take most first. */
void span_functions_sort(struct span_functions *f);
/* The names stay. */
void span_functions_free(struct span_functions *f);
