/* Units a value may be written in, checked against what a feature is measured in. Shared by the files of this
 * room only. */
#pragma once

#include "machine/model/feature.h"

/* The factor from a unit's name ("" = none given) to the feature's own unit (counters per second); 0 where it
 * does not fit, and *ret_expected says what would. */
double unit_factor(const struct feature *f, const char *name, const char **ret_expected);
