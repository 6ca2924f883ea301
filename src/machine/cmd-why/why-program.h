/* `why WHO`: not who slows the machine, but why this one program is slow. */
#pragma once

#include "machine/cmd-why/why-query.h"

/* `asked`: the moment, and the events kept of it, if any. `store`: NULL = nothing is recorded. Prints; returns the exit status. */
int why_program(struct common *common, const char *who, struct store *store, struct why_query *asked);
