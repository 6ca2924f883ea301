/* When did programs begin to wait for the machine, and what was it short of? */
#pragma once

#include "lib/data/clock.h"
#include "machine/judge/method.h"
#include "machine/model/dataset.h"

struct shortages {
	bool felt;		   /* more had to be waited for something than is usual */
	bool any;		   /* ... and than the past swung to by itself */
	bool always;		   /* a pressure is as high as it has been since the recording began, not long ago */
	bool of[BOTTLENECK_COUNT]; /* for what, in [focus, at] */
};

/* The machine's entity at a tick (each start of the recorder makes one), or NULL. */
const struct subject *pressure_system(const struct dataset *d, uint32_t at);

/* The last tick that lies `ns` or more before `from` in one piece with it; where it is shorter, the piece's first one after its
 * first seconds: that a recorder starts is felt, too, and what stood still meanwhile catches up. */
uint32_t pressure_tick_before(const struct dataset *d, uint32_t from, int64_t ns);

/* What is usual of a trouble that began at `focus` is learnt up to this tick (it may lie before q->train_from): who makes
 * others wait may have begun before anybody else wanted what he takes, so the moments just before are left out. */
int64_t pressure_last_learnt(const struct dataset *d, const struct method_question *q, uint32_t focus);

/* For each tick what programs that do not give way waited for a CPU, s/s. Some of them waited for no more of the time
 * than all of them together did; and that those wait who chose to is no shortage, nor is what they wait for those who ask whyslow
 * (the share of the CPU time that these use in the tick, as for any suspect: METHOD_STEEP). The caller frees *ret, which is NULL
 * where run delays were not recorded. 0 or -ENOMEM. */
int pressure_sum_waited(const struct dataset *d, double **ret);

/* People ask a little late: the trouble may be over by then. */
#define PRESSURE_REACTION (15 * NS_PER_SEC)

/* Looks for a trouble at q->at or up to `reaction` ns before (0: it is there now): moves q->at back to where it was there last,
 * puts q->focus where it began (`since`, wall ns, where that is known: not 0), and fills q->pressure. Wants q->train_from and
 * train_to (before train_from: nothing is known of the past, and what is felt is an incident), excluded and waited.
 *
 * An incident is what is felt and goes beyond what the past reached by itself in nine of ten such times. What is felt without going beyond
 * that (`felt`) is placed as well: it is an incident where one program stands out. 0 or -ENOMEM. */
int pressure_find(const struct dataset *d, struct method_question *q, int64_t since, int64_t reaction, struct shortages *ret);
