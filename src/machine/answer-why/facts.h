/* What is known of the moment asked about, for the catalogue of causes (machine/findings/facts.h, machine/rule/cause.h). */
#pragma once

#include "machine/findings/facts.h"
#include "machine/judge/method.h"

/* Of an answer whose bottleneck and ranking are there. `d` holds the features `narrow` of processes (all: FEATURES_ALL), `wide`
 * the others of the first suspects, over the same ticks. The caller frees *ret. 0 or -ENOMEM. */
int facts_of_answer(const struct dataset *d, const struct dataset *wide, feature_set narrow, const struct method_question *q,
		    const struct answer *a, struct facts *ret);
