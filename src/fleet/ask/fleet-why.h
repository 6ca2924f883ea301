/* The five steps chained: a symptom, since when, which servers are unusual, what moved with it, what led, and what that
 * normally means. */
#pragma once

#include "fleet/analysis/fleet-analysis.h"
#include "fleet/ask/fleet-cause.h"
#include "fleet/model/fleet-answer.h"
#include "fleet/model/fleet-calls.h"

/* q: symptom (-1: to be found), window and normal time. `calls` may be NULL. 0, -ENODATA, -ENOMEM. */
int fleet_why_answer(const struct fleet_question *q, const struct causes *causes, const struct fleet_calls *calls, struct fleet_answer *ret);
void fleet_answer_free(struct fleet_answer *a);
