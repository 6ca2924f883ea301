/* The intervals of a series in which its level lies far from normal, where neither peers nor a given window tell what is normal.
 *
 * Intervals of SCAN_LEAST rows and more, each a quarter longer than the last, begin every quarter of their length; none
 * reaches over a gap in time. Of each:
 *
 *     z = (mean of the interval - median of the series) / how far means of that length wander
 *
 * Means of a length wander as far as they lie from the median, on median, or from the next one, the higher of both, so that noise
 * with a memory counts for what it does at that length; half the root mean square of the steps at least, so that a counter
 * which spikes every hour spikes every hour. Beyond a sixteenth of the series it is that of a sixteenth, by the steps alone: a
 * fault of a third of the data must not be its own measure. Intervals of SCAN_CYCLE and more, and all intervals of a series of SCAN_CYCLES and
 * more, keep both: a daily cycle, too, lies far from the median without a step. Of three days and more, what the days have in common at a time of the day is normal
 * for it. Short intervals are judged by medians of three rows, and values count up to SCAN_CLIP robust standard deviations, so that
 * one extreme value alone does not make an incident.
 */
#pragma once

#include "fleet/analysis/fleet-baseline.h"
#include "fleet/model/fleet-finding.h"
#include "lib/data/vec.h"

#define SCAN_LEAST    3
#define SCAN_CLIP     10.0
#define SCAN_CYCLE    (7200ll * 1000000000)
#define SCAN_CYCLES   (43200ll * 1000000000)
#define SCAN_ROWS_MAX 4096 /* longer series are judged by means of so many equal parts: a week by parts of 148 s */

/* An interval of a server that lies far from normal. */
struct scan_found {
	double score;
	int counter; /* which lies farthest there; its edges are those of the span */
	struct fleet_span span;
};
struct scan_list {
	VEC(struct scan_found) list;
};

/* The one that lies farthest, of all counters together: score = the highest |z|, or the sum of the k <= 4 highest over the root of k,
 * less the median of that over all intervals (how high the highest of many counters lie by chance). `skip`: counters that are left out, by
 * index. 0, -ENODATA (too few rows, or nothing moves), -ENOMEM. */
int fleet_scan_server(const struct fleet *f, size_t server, const bool *skip, struct scan_found *ret);
/* The same of a symptom: in an interval in which something was wrong, other counters of the fleet (of servers with the same times) lie
 * far from normal as well. The highest |z| times (1 + the sum of the others, as above); score = |z|. */
int fleet_scan_symptom(const struct fleet *f, size_t server, size_t counter, struct scan_found *ret);
/* Appends the intervals of each counter with |z| >= `least`, at most `most` of a counter, which do not overlap. 0 or -ENOMEM. */
int fleet_scan_each(const struct fleet *f, size_t server, const bool *skip, double least, unsigned most, struct scan_list *ret);
