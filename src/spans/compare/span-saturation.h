/* Is the rise of a comparison that of load, and where do calls wait?
 *
 * Spans show when requests began, how long they took, and for what calls waited; not how many workers, CPUs or connections there are. So
 * saturation is what shows from outside. By Little's law (1961) requests that run at a time are those that begin in a second times what each
 * takes: more of them at the same throughput than before has another reason than load. The sample's requests are put into bins of as many each, by time;
 * how much longer they take where more begin is the slope over the baseline's bins, without what chance does to a bin's rate (regression
 * with errors in variables: Fuller 1987, 1.2). Each request counts relative to the mean of its bucket before.
 */
#pragma once

#include "spans/model/span-change.h"
#include "spans/model/span-saturation.h"

/* c: judged, of f; seconds: of each side, 0 = not known. 0 or -ENOMEM. */
int span_saturation_find(const struct forest *f, const struct span_change *c, const double seconds[2], struct span_saturation *ret);
