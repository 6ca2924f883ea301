/* Finds what was unusual in all of a fleet's data, without a question: intervals of servers' counters, those of the same time together; first those with values that were never there before. */
#pragma once

#include "fleet/ask/fleet-window.h"

/* q: its window, server and counter choose what is looked at. 0 or -ENOMEM. */
int fleet_history_make(const struct fleet_question *q, struct fleet_history *ret);
void fleet_history_free(struct fleet_history *h);
