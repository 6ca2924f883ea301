/* `export --format trace`: events of now, or those kept of a mark, as one file. */
#pragma once

#include "machine/verb/verb.h"

/* mark: its number as text; NULL = now. The exit status. */
int export_trace(struct common *common, const char *mark, const char *output);
