/* `export --format html ID`: an incident as one file. */
#pragma once

#include <stdio.h>

#include "machine/verb/verb.h"

/* Writes the incident or mark with that number. Returns the exit status. */
int report_incident(struct common *common, const char *id, bool redact, FILE *out);
