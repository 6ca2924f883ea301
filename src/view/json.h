/* One JSON document on a line or lines of its own. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* Takes the reference. `flags` as json_dumpf(). 0, -ENOMEM for NULL (what could not be put together), -EIO. */
int json_print(json_t *root, size_t flags, FILE *out);
