/* How unusual each minute was, of series of minutes: what the machine lacked, what each program did.
 *
 * A minute's score is
 *
 *   (value - median) / max((p90 - median) / 1.2816, floor)
 *
 * over all minutes that were recorded (those in which a program did nothing count as 0), at most ANOMALY_MOST. The floor is the least that
 * is noticeable. What happens at the same time of most other days is usual: a value of which ANOMALY_ALIKE was reached within
 * ANOMALY_AROUND of that time on at least half of the other days, and on two at least, scores 0.
 */
#pragma once

#include "machine/findings/history.h"

#define ANOMALY_ODD    6.0f /* from here on a minute is unusual */
#define ANOMALY_MOST   100.0f
#define ANOMALY_ALIKE  0.7f
#define ANOMALY_AROUND 30 /* minutes */
#define ANOMALY_GAP    3  /* minutes that may look usual within an episode */

/* Puts series number `index` into `best` where it is more unusual than what is there. `recorded`: of each of n minutes whether it was.
 * 0 or -ENOMEM. */
int anomaly_judge(struct minute_series *s, uint32_t index, const bool *recorded, uint32_t n, struct minute_score *best);
/* The episodes of two judgements of the same minutes, the most unusual first. 0 or -ENOMEM. */
int anomaly_find_episodes(const struct minute_score *machine, const struct minute_score *programs, uint32_t n, struct anomaly_episodes *ret);
