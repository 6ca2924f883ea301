/* The meaning of a counter's name: "http_request_duration_seconds_p99" is a quantile of a duration in seconds. */
#pragma once

#include <stdbool.h>

/* Whether two names differ at most in the statistic that they name (average, p99, max, sum ...), in case, and in what stands
 * between their words. */
bool counter_same_quantity(const char *a, const char *b);
/* The unit that a name ends in (after _total, _sum and the like): "_bytes" is "B", "_seconds" "s". NULL = none. */
const char *counter_unit_of_name(const char *name);
