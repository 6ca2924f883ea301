/* JSON: values that may be missing, and documents. Values are new references, or NULL without memory. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* JSON has no NaN: what is not known is null. */
json_t *json_number(double value);
json_t *json_text(const char *value);
json_t *json_texts(char *const *values, size_t n);
/* RFC 3339; 0 = null. */
json_t *json_moment(int64_t wall);

/* Prints a document on a line or lines of its own. Takes the reference. `flags` as json_dumpf(). 0, -ENOMEM for NULL (what could not be put together), -EIO. */
int json_print(json_t *root, size_t flags, FILE *out);
