/* Faults that are still there: they must not become a part of the baseline that they are compared with. */
#pragma once

#include "fleet/model/fleet-finding.h"

#define LASTING_WINDOWS 12 /* as many times as long as the baseline may a fault last; then it is what is normal */

/* A zeroed one knows of no fault. */
struct lasting_faults {
	VEC(struct fleet_span) spans; /* in the order of time; the last one continues where `lasts` */
	VEC(uint64_t) far;	      /* series that were far from normal in the last round, by their names */
	bool lasts;
};

void lasting_faults_free(struct lasting_faults *l);
/* Takes what a round found in [from, to) by deviation: a fault is a series that is far from normal two rounds in a row, and lasts while any is. 0 or
 * -ENOMEM. */
int lasting_faults_round(struct lasting_faults *l, const struct fleet *f, const struct fleet_findings *found, struct fleet_span looked);
/* From where on data is to be kept at `now`, for a baseline of `window` ns without faults; forgets faults before it, and one that lasts for too long. */
int64_t lasting_faults_keep(struct lasting_faults *l, int64_t now, int64_t window);
