/* From the phases of a trial to its verdict. */
#pragma once

#include "machine/findings/trial.h"

#define TRIAL_LEVEL	  0.03	/* p of a yes: at most 2 of the 70 orders */
#define TRIAL_COVERAGE	  0.94	/* of the interval: 66 of 70, one difference cut off at each end */
#define TRIAL_LEAST_WAITS 0.02	/* of a thread's time: less is not slowness to be explained */
#define TRIAL_LEAST_SHARE 0.2	/* of what is waited: who takes less of it away is not the cause */
#define TRIAL_BOUND	  0.5	/* what it may still use of what it uses when free */
#define TRIAL_LEAST_CPU	  0.01	/* CPUs: who uses less is as good as not there, held back or not */
#define TRIAL_LEAST_BYTES 65536 /* bytes/s, of disks */

/* Fills in the phases' figures from the samples, then means, p, effect and verdict. 0 or -errno.
 *
 * yes      the waits fall when it is held back: p <= TRIAL_LEVEL, the interval is above 0, and the effect is
 * at least TRIAL_LEAST_SHARE of them no       it was bound, and even the interval's upper end is less than
 * that unclear  otherwise, with the reason: no one waited, it could not be bound, or the noise is too loud
 */
int judge_trial(struct trial *t);
