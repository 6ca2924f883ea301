/* The readable grammar of rules (machine/rule/rule.h) as thresholds of a fleet: "when average X in time view > 5 report". */
#pragma once

#include "fleet/model/fleet-threshold.h"
#include "machine/rule/rule.h"

/* Appends each rule. 0; -EINVAL with *ret_error saying which rule cannot be meant for many servers and why (caller frees);
 * -ENOMEM. */
int fleet_thresholds_of(const struct rules *rules, const char *file, struct fleet_thresholds *ret, char **ret_error);
