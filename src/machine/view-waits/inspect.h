#pragma once

#include <stdio.h>

#include "machine/findings/inspection.h"

/* For people: the sentence first, then threads, where the time goes, what the others wait for, files.
 * `depth`: how deep call trees are printed. */
void inspect_text(const struct inspection *n, unsigned depth, FILE *out);
/* schema "whyslow.inspect/1": docs/json.md; at most so many threads (SIZE_MAX: all, for people who read it). */
void inspect_json(const struct inspection *n, size_t most, FILE *out);
