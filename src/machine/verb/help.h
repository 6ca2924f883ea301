/* Help, manual page and completion, all from the verb and option tables. */
#pragma once

#include "machine/verb/verb.h"

/* What every verb says of times and of its exit status. */
extern const char help_times[], help_status[];

void help_overview(void);
void help_verb(const struct verb *verb, const struct option_row *shared);
