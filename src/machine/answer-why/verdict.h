/* From a ranking and the pressures to a verdict: is it slow, is the first suspect named, what is short. */
#pragma once

#include "machine/answer-why/pressure.h"
#include "machine/findings/finding.h"

/* Of the default model (machine/findings/evidence.h): the probabilities of the suspects, of "nothing is slow" and of what is not listed. It is
 * slow where "nothing" has less than half. The first suspect is named where it is more probable than all that is not listed, and than
 * COSTS times "nothing". The other models have no probabilities: slow is what is felt, and what their score says.
 * Fills a->slow, culprit_is_named, confidence, odds, pressure and the suspects' probability. */
void verdict_judge(struct answer *a, const struct method_question *q, const struct shortages *there, const struct method *method, bool marked);
/* Programs wait for the machine, and not for one program alone. After verdict_judge(). */
bool verdict_is_pressed(const struct answer *a, const struct shortages *there);
/* Fills a->bottleneck. */
void verdict_choose_bottleneck(struct answer *a, bool pressed, const struct shortages *there);
