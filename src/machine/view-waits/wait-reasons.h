/* What waits were for, by their stacks: as text and as JSON (schema whyslow.reasons/1, docs/json.md). */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "machine/events/wait-reason.h"

void wait_reasons_text(const struct wait_reasons *r, size_t top, FILE *out);
/* 0 or -ENOMEM. */
int wait_reasons_json(const struct wait_reasons *r, FILE *out);
