/* When something happened, where the question does not say. */
#pragma once

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/model/fleet-answer.h"

/* The interval in which a series lay farthest from its normal: of q's symptom, or of any counter of any server. A server with peers
 * is looked at relative to them: what they all do at the same time, a daily cycle say, is none of its own; its normal is its
 * first quarter, and its spread is what is common among them, so that a fault may last to the end. One without peers is
 * looked at as it is (fleet-scan.h), all counters together; with `together` all are. Of a symptom the farthest interval is found, however
 * far it lies. *ret: the interval, and the server and counter that lie farthest in it. 0, -ENODATA (none), -ENOMEM. */
int fleet_window_find(const struct fleet_question *q, bool together, struct fleet_stretch *ret);

/* All such intervals, of each series at most FLEET_STRETCHES_EACH: what was unusual in a week. In no order. The caller frees the list.
 * 0 or -ENOMEM. */
#define FLEET_STRETCHES_EACH 16
int fleet_stretches_find(const struct fleet_question *q, struct fleet_stretches *ret);

/* Servers whose level differs from their peers' for all of the data (of q's symptom, or of any counter), in robust standard deviations
 * of the peers' levels, from LEVELS_FAR on. 0 or -ENOMEM. */
#define LEVELS_FAR 6.0
int fleet_levels_compare(const struct fleet_question *q, struct fleet_findings *ret);
