#pragma once

#include "machine/verb/verb.h"

/* `compare --captures ID ID`. Returns the exit status. */
int compare_captures(struct common *common, const char *first, const char *second);
