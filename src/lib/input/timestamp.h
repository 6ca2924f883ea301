/* Moments as tables of counters write them. */
#pragma once

#include <stdint.h>

/* Wall ns of the text [p, end):
 *   2022-08-22 03:51:19.607158889 +0000 UTC m=+0.11, 2022-08-22T03:51:19Z, 2022/08/22 03:51, 2022-08-22 (zone: UTC
 *   unless given), or a number: seconds, ms, us or ns since 1970, distinguished by their size.
 * 14 digits and 8 that are a date are one (20221120143207). 0 or -EINVAL. */
int timestamp_parse(const char *p, const char *end, int64_t *ret);

/* The same for a text that is written as `format` says (strptime(3)); a fraction of the second may follow it. UTC, unless it has %z. -EINVAL also where
 * the format does not tell the day. */
int timestamp_parse_as(const char *format, const char *p, const char *end, int64_t *ret);

/* "14:32" or "14:32:07.5": ns since midnight. 0 or -EINVAL. */
int timestamp_parse_clock(const char *p, const char *end, int64_t *ret);
