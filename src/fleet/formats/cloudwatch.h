/* Answers of `aws cloudwatch get-metric-data` and `get-metric-statistics`. */
#pragma once

#include <jansson.h>

#include "fleet/formats/text-lines.h"

/* Puts the results of get-metric-data. A label is a counter, or a server and a counter ("i-0a1b CPUUtilization"), else the server is the file; of results with
 * the same label the counter has the id, too. 0 or -ENOMEM. */
int cloudwatch_take_data(struct text_lines *l, const json_t *results);
/* Puts the points of get-metric-statistics: a counter for each statistic ("CPUUtilization.Average") of the server that the file is called after. 0 or -ENOMEM. */
int cloudwatch_take_statistics(struct text_lines *l, const char *label, const json_t *points);
