/* What is known of the moment asked about, for the catalogue of causes (model/facts.h, rule/cause.h). */
#pragma once

#include "analysis/method.h"
#include "model/facts.h"

/* Of an answer whose bottleneck and ranking are there. `wide` holds all features of the first suspects, over the same
 * ticks; it may be `d` itself. The caller frees *ret. 0 or -ENOMEM. */
int facts_of_answer(const struct dataset *d, const struct dataset *wide, const struct question *q, const struct answer *a,
		    struct facts *ret);
