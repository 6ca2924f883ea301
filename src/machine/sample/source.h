/* The sources of counters on this machine, in the order they are sampled. */
#pragma once

#include "machine/model/source.h"

extern const struct source source_task; /* processes, by BPF */
extern const struct source source_proc; /* processes, by /proc, where BPF is not available */

extern const struct source source_disk, source_filesystem, source_interface, source_cgroup, source_sensor;
extern const struct source source_kmsg, source_packages, source_boot; /* notes on the time axis */

/* NULL-terminated: every source of the system's own counters. */
extern const struct source *const system_sources[];
