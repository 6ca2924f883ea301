/* systemd's own way to hold a whole unit back: runtime properties over D-Bus. */
#pragma once

#include <stdint.h>

#include "lib/data/str.h"

#define UNIT_NAME 256

/* The unit of the system's manager that a process belongs to, where the whole of it can be held: a service,
 * or a scope that is not a login's. 0; -ENXIO: none such (also without systemd). */
int unit_of(uint32_t pid, char ret[UNIT_NAME]);
/* "CPUQuotaPerSecUSec 10000": a number; "IOReadBandwidthMax /dev/vda 262144 ...": pairs. What it is now, in
 * the same words. 0 or -errno (no bus, no such property). The caller frees. */
int unit_get(const char *unit, const char *property, char **ret);
int unit_set(const char *unit, const char *property_and_value);
int unit_freeze(const char *unit);
/* 0 also where it was not frozen, or is gone. */
int unit_thaw(const char *unit);
