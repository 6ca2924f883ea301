/* What is known of the moment asked about, for the catalogue of causes (machine/findings/facts.h, machine/rule/cause.h). */
#pragma once

#include "machine/findings/facts.h"
#include "machine/judge/method.h"

/* Of an answer whose bottleneck and ranking are there. `d` holds the features `narrow` of processes (all: FEATURES_ALL), `wide`
 * the others of the first suspects, over the same ticks. The caller frees *ret. 0 or -ENOMEM. */
int facts_of_answer(const struct dataset *d, const struct dataset *wide, uint64_t narrow, const struct method_question *q,
		    const struct answer *a, struct facts *ret);
/* How long before a moment (wall ns) the last process of the suspect's program or job was seen; 0 = it continues, or it has none of its own. */
int64_t facts_ended(const struct dataset *d, const struct suspect *top, int64_t asked);
