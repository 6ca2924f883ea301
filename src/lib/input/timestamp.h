/* Moments as tables of counters write them. */
#pragma once

#include <stdint.h>

/* Wall ns of the text [p, end):
 *   2022-08-22 03:51:19.607158889 +0000 UTC m=+0.11, 2022-08-22T03:51:19Z, 2022/08/22 03:51, 2022-08-22 (zone: UTC
 *   unless given), or a number: seconds, ms, us or ns since 1970, distinguished by their size.
 * 0 or -EINVAL. */
int timestamp_parse(const char *p, const char *end, int64_t *ret);
