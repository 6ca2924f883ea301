/* The state machine of "Chasing Heisenbugs" (figure 3), literally: one event is reported once, however it dips.
 *
 *   Normal       -- high ----------------------------------------------> High         RISE
 *   High         -- not high ------------------------------------------> Normal       FALL
 *   High         -- high for `up` -------------------------------------> Diagnosis    BEGIN
 *   Diagnosis    -- low -----------------------------------------------> Normal-Wait  PAUSE
 *   Normal-Wait  -- high ----------------------------------------------> Diagnosis    RESUME (another phase)
 *   Normal-Wait  -- low for `down` ------------------------------------> Normal       END
 *
 * With one threshold, low is not high. With two, a value between them is neither: in Normal-Wait it starts
 * `down` again. A pure function of state and sample: it reads no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum trigger_state { TRIGGER_NORMAL, TRIGGER_HIGH, TRIGGER_DIAGNOSIS, TRIGGER_NORMAL_WAIT };

enum trigger_action {
	TRIGGER_NOTHING,
	TRIGGER_BEGIN,	 /* start the diagnosis */
	TRIGGER_COLLECT, /* it continues */
	TRIGGER_PAUSE,	 /* it dips: a phase ends */
	TRIGGER_RESUME,	 /* it is back: another phase begins */
	TRIGGER_END,	 /* it is over; the last phase ended with the last PAUSE */
	TRIGGER_RISE,	 /* its first phase begins, if it lasts */
	TRIGGER_FALL,	 /* it did not last */
};

struct trigger {
	enum trigger_state state;
	int64_t elapsed; /* ns in High, or low in Normal-Wait */
	unsigned phases;
};

struct trigger_limits {
	int64_t up, down; /* ns; both may be 0 */
};

struct trigger_sample {
	int64_t span; /* ns since the sample before; what was not seen counts for nothing */
	bool high;    /* beyond the threshold for going up */
	bool low;     /* below the one for coming back; never both */
};

struct trigger trigger_step(struct trigger t, const struct trigger_limits *limits,
			    const struct trigger_sample *sample, enum trigger_action *ret);
