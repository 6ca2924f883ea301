/* A dataset written out for other programs. Values are in the feature table's units; counters are rates per second of
 * the tick they are listed at. A value is listed when it is not what was listed last: a counter's rate returns to 0
 * unlisted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "machine/model/dataset.h"

/* time,kind,id,pid,start,name,feature,unit,value */
void export_csv(const struct dataset *d, FILE *out);
/* One object a tick and subject: {"time","kind","id","pid","name","values":{feature: value}}. 0 or -ENOMEM. */
int export_jsonl(const struct dataset *d, FILE *out);
