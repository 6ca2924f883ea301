/* Every counter of every server against what is normal for it: what the default comparison lists and alarms add up.
 *
 * What is normal is its own past, and its own past relative to the servers of its role at the same time where that strayed
 * less in the normal time: the higher of the two scores counts. A daily cycle that all web servers have is not a deviation of one of them; a server
 * that no one resembles is compared with itself.
 */
#pragma once

#include "fleet/analysis/fleet-baseline.h"
#include "fleet/analysis/fleet-peers.h"

struct fleet_series {
	const struct fleet_question *q;
	struct fleet_peers peers;
	bool with_peers;
	struct fleet_baseline_rows
		*usual;		  /* by server of the question's fleet: rows of its twin in the reference */
	struct fleet_baseline_rows *since; /* by server: rows between a baseline that ended long ago and the window; no blocks: it did not */
	struct row_range *window; /* by server */
	int *twin; /* by server: its index in the reference, -1 = it is not there */
};

/* The question must outlive it. 0 or -ENOMEM; free it in either case. */
int fleet_series_open(const struct fleet_question *q, struct fleet_series *ret);
void fleet_series_close(struct fleet_series *s);
/* Finds what the servers of a role have in common, to be given to fleet_series_judge(). 0 or -ENOMEM. */
int fleet_series_relative(const struct fleet_series *s, size_t counter, struct select_room *room, struct fleet_relative *ret);
/* How many windows tell how a server's windows score by chance: those of the baseline, and those since then where they are many. */
size_t fleet_series_windows(const struct fleet_series *s, size_t server);
/* When each of them begins (wall ns), in order. */
void fleet_series_window_times(const struct fleet_series *s, size_t server, int64_t *to);
/* Judges one. `scores` (may be NULL) gets the score of each of fleet_series_windows(), NaN where there are no values. 0, -ENODATA,
 * -ENOMEM. */
int fleet_series_judge(const struct fleet_series *s, size_t server, size_t counter, const float *relative,
		       struct select_room *room, struct fleet_finding *ret, float *scores);
