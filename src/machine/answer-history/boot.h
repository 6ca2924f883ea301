/* The paper's failure (case study 3): is the machine's start slow because it pages in code, runs a start-up script, or
 * something else? */
#pragma once

#include "machine/answer-why/why.h"

#define BOOT_LONGEST	 (600 * NS_PER_SEC)
#define BOOT_RECORDED_BY (120 * NS_PER_SEC) /* a recording that begins later does not know the start: boot-late.h */

/* Answers for the start that begins at request->since and ends when the machine grows calm, at request->at at the
 * latest. -ENODATA when the start was not recorded. */
int boot_answer(struct dataset *d, const struct why_request *request, struct answer *ret);
