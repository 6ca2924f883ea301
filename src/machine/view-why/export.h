/* A dataset written out for other programs. Values are in the feature table's units; counters are rates per second of
 * the tick they are listed at. A value is listed when it is not what was listed last: a counter's rate returns to 0
 * unlisted.
 */
#pragma once

#include <stdio.h>

#include "machine/model/dataset.h"

/* RFC 4180: quotes around what needs them, quotes doubled; an apostrophe before what a table would take for a formula. NULL is an empty field. */
void export_csv_text(const char *text, FILE *out);
/* time,kind,id,pid,start,name,feature,unit,value */
void export_csv(const struct dataset *d, FILE *out);
/* One object a tick and subject: {"time","kind","id","pid","name","values":{feature: value}}. 0 or -ENOMEM. */
int export_jsonl(const struct dataset *d, FILE *out);
/* The last tick as OpenMetrics text: gauges as they are, counters as their growth a second over the window. Processes that
 * lived for less than a sample by name, the 20 that used most of something; the others' sum is called "(others)". */
void export_openmetrics(const struct dataset *d, FILE *out);
