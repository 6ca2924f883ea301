/* Numbers with their unit, as people and tools write them: "45 %", "512MiB", "1.5 GiB", "120 ms", "1,234.5 B/s". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define QUANTITY_UNIT_MAX 16 /* with the NUL */

/* The number in [p, end), and what stands behind it, which must be a unit that quantity_ratio() knows; "" where nothing does. False for all else. */
bool quantity_parse(const char *p, const char *end, double *ret, char ret_unit[QUANTITY_UNIT_MAX]);

/* By what a number in `from` is multiplied to be one in `to`: 1024 for MiB and KiB. 1 where either is "", NULL or not known; NaN where they
 * measure different things. */
double quantity_ratio(const char *from, const char *to);
