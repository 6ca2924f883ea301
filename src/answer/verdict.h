/* From a ranking and the pressures to a verdict: is it slow, is the first suspect named, what is short. */
#pragma once

#include "answer/pressure.h"
#include "model/finding.h"

/* Something is felt, and not by chance: it goes beyond what the past swung to, or one program stands out. */
bool verdict_is_pressed(const struct answer *a, const struct shortages *there, const struct method *method, bool marked);
/* Fills a->slow and a->pressure. */
void verdict_judge(struct answer *a, const struct question *q, bool pressed, const struct method *method, bool marked);
/* Wants a->slow and slow_since. */
bool verdict_names_culprit(const struct answer *a, const struct method *method, bool marked);
/* Fills a->bottleneck. */
void verdict_choose_bottleneck(struct answer *a, bool pressed, const struct shortages *there, bool marked);
