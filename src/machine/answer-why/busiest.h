/* On a machine where programs always have to wait: who uses most of what they wait for. */
#pragma once

#include "machine/findings/finding.h"
#include "machine/judge/method.h"
#include "machine/model/dataset.h"

/* Of what is waited for most in [q->focus, q->at], if that is worth a word, the program that uses most, with the feature that says
 * how much. Leaves ret->subject NULL where nobody waits much. The caller frees *ret. 0 or -ENOMEM. */
int busiest_find(const struct dataset *d, const struct method_question *q, const struct pressure *pressure, struct suspect *ret);
