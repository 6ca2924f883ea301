#pragma once

#include <stdint.h>

#include "cmd/verb.h"

extern const struct option_row why_options[];

/* Answers for a moment with the options of `why` and prints it. `marked`: somebody pressed the button then. Returns
 * the exit status. */
int why_at(struct common *common, int64_t wall, bool marked);
