/* An answer in words: its first sentence, its cause, and what can be done. */
#pragma once

#include "machine/findings/facts.h"
#include "machine/rule/cause.h"

/* Does it say since when, or because of whom, the machine is slow? Of a moment that is like all others, and improbable by its own measure, neither is known. */
bool words_are_there(const struct answer *a);
/* Sets cause, summary and next; takes `slow` back where neither the answer nor a cause says anything. 0 or -ENOMEM. */
int words_of_answer(struct answer *a, const struct facts *facts, const struct causes *causes);
