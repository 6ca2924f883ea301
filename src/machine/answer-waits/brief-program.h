/* Programs whose processes normally end soon, as a script starts them: one that lasts and waits is a hang, although it has no past of its own. */
#pragma once

#include "machine/model/dataset.h"

/* For how long processes like `s` lived before it began (ns), all but the longest 5 %: those of its program, and those of its name that its
 * parent started and that lived for less than one sample. 0 = fewer than ten are known, or no memory. */
int64_t brief_program_life(const struct dataset *d, const struct subject *s);
