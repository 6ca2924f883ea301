/* Who had the CPUs, of a trace: what machine/events/cpu-report.h tells of two readings of the recorder's sums, for any window of the past whose
 * events are kept. Exact, as every switch and interrupt is there. Not known of it: what the timer's sampling said, and what a hypervisor
 * took (steal). */
#pragma once

#include "machine/events/cpu-report.h"
#include "machine/events/interval.h"

/* [from, to) within the timeline. The caller frees with cpu_report_free(). 0 or -ENOMEM. */
int cpu_sums_make(const struct timeline *t, int64_t from, int64_t to, struct cpu_report *ret);
