/* What was unusual, as text and as JSON (schema whyslow.history/1, docs/json.md). */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "machine/findings/history.h"

/* `top` episodes; `who`: NULL = machine and programs; `odd`: the score from which on a series is named. */
void history_text(const struct history *h, const char *who, size_t top, float odd, FILE *out);
/* With scores in at most `points` parts (0 = none), each its worst minute's. 0 or -ENOMEM. */
int history_json(const struct history *h, size_t top, size_t points, FILE *out);
