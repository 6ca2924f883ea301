/* When the incident really began.
 *
 * People notice late: rows before a window often belong to the same trouble, and a reference that contains them hides
 * what it is compared with. The window therefore grows back over the rows before it that look like the incident.
 */
#pragma once

#include "fleet/model/fleet-finding.h"

#define ONSET_WITNESSES 8   /* series that are asked: those whose level moved most */
#define ONSET_FAR	2.5 /* robust standard deviations: less is not a level of its own */

/* Of the ONSET_WITNESSES series whose median in the window lies farthest from that of the normal time (at least ONSET_FAR), each
 * names the contiguous rows before the window that lie on the window's side of the middle between the two medians. *ret
 * is the window from the median of what they name, or (`first`: a window that was found begins with the series that lay farthest, and its
 * cause moved before) the earliest, at most three times as long as it was. A level that was there for
 * more than a quarter of an hour before a given window must have come as a step; one that was there for more than an hour does not count. In a window of many rows it is asked of a series whose median
 * did not move how far its rows strayed from it: bursts of single rows move no median. The window itself where no level moved that
 * far, or where the reference is another fleet. 0 or -ENOMEM. */
int fleet_window_grow(const struct fleet_question *q, bool first, struct fleet_span *ret);
