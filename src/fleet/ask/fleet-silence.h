/* Servers and counters that stopped reporting while others continued. */
#pragma once

#include "fleet/model/fleet-answer.h"
#include "lib/data/vec.h"

#define SILENCE_ROWS 5 /* that are missing, at least */

/* Silences in the window, the longest first: those that take the half of it, or of a window that is not given (all of the data) any. A server is silent
 * where it has no rows and most others have; a counter where it is missing in its server's rows. Neither counts where it
 * was away for a third as long at another time: some report now and then. q->server and q->counter choose what is looked at. 0 or -ENOMEM. */
int fleet_silence_find(const struct fleet_question *q, bool window_given, struct fleet_silences *ret);
