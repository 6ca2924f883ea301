/* The age of a recording, by the recordings after it and not by the wall clock of now, which may be wrong: a clock without a battery, a restored
 * virtual machine, a hand that set it.
 *
 * Within one boot the boot clock tells what passed. Between two boots the wall clock is believed for at most AGE_GAP_MAX, and after a longer gap
 * than AGE_GAP_SURE only when AGE_CONFIRMED was recorded since. What is not believed does not count: a recording may then be kept for longer than
 * was asked for, and is never deleted because a clock was wrong.
 */
#pragma once

#include <stdint.h>

#include "lib/data/clock.h"

#define AGE_GAP_MAX   (3 * 86400 * NS_PER_SEC) /* a weekend and a holiday */
#define AGE_GAP_SURE  (3600 * NS_PER_SEC)
#define AGE_CONFIRMED (3600 * NS_PER_SEC)

/* A time that was recorded without a step of the clock. */
struct age_span {
	int64_t first, last;	      /* wall ns */
	char boot[CLOCK_BOOT_ID];     /* "" = not known */
	int64_t boot_first, boot_last; /* clock_boot() at both ends; only with `boot` */
};

/* Begins zeroed. */
struct age {
	int64_t passed;	      /* ns from the end of the span that was added last to the end of the newest */
	int64_t recorded;     /* ns of it that spans cover */
	struct age_span next; /* the span that was added last */
	uint64_t spans;
};

/* Adds a span, the newest first and each older one after it. Returns how long ago it ended, as a->passed then says. */
int64_t age_add(struct age *a, const struct age_span *span);

/* The step of the wall clock between two spans, the later one after the earlier (ns, > 0 = forward). Within a boot it is known; between two boots
 * it is what cannot have been a pause: a jump back, or one forward by more than AGE_GAP_MAX, which may have been one. */
int64_t age_step(const struct age_span *earlier, const struct age_span *later);
