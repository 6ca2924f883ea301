/* The flight recorder's events of a process that was inspected: before, and while it was looked at. */
#pragma once

#include "machine/findings/inspection.h"
#include "machine/verb/verb.h"

/* began, ended: wall ns of the looking. mark: the incident it was made for, whose trace is kept; 0 = none. Fills what
 * `n` says was recorded, or a remark why nothing was. Waits at most 3 s for the recorder. */
void inspect_recorded(const struct common *common, int64_t mark, int64_t began, int64_t ended, struct inspection *n);
