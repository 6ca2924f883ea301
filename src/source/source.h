/* The sources of counters on this machine, in the order they are sampled. */
#pragma once

#include "model/source.h"

extern const struct source source_task; /* processes, by BPF */
extern const struct source source_proc; /* processes, by /proc, where BPF cannot be had */

/* NULL-terminated: every source of the system's own counters. */
extern const struct source *const system_sources[];
