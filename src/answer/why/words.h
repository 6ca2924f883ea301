/* An answer in words: its first sentence, its cause, and what can be done. */
#pragma once

#include "model/answer/facts.h"
#include "rule/cause.h"

/* Sets cause, summary and next. d: what names of processes are taken from. 0 or -ENOMEM. */
int words_of_answer(const struct dataset *d, struct answer *a, const struct facts *facts, const struct causes *causes);
