/* On a machine where programs always have to wait: who uses most of what they wait for. */
#pragma once

#include "analysis/machine/method.h"
#include "model/answer/finding.h"
#include "model/machine/dataset.h"

/* Of what is waited for most in [q->focus, q->at], if that is worth a word, the program that uses most, with the feature that says
 * how much. Leaves ret->subject NULL where nobody waits much. The caller frees *ret. 0 or -ENOMEM. */
int busiest_find(const struct dataset *d, const struct method_question *q, const struct pressure *pressure, struct suspect *ret);
