/* Which way a process goes, by the CPU's own record of the last branches taken (LBR of Intel, BRS and LBR of AMD, BRBE of Arm): nothing is
 * held up. Each branch comes as a sample whose only frame is where it went, in the order of time; there are gaps between one
 * record of some 32 branches and the next; on a hybrid CPU each kind of core has records of its own. */
#pragma once

#include <stdint.h>

#include "machine/flight/samples.h"

#define BRANCHES_PERIOD 1000003 /* branches from one record to the next: some hundred records a second */

/* How many branches the CPU records at a time, of several kinds of cores (hybrid CPUs) the one with fewest; 0 = it has no such record, or does
 * not show it to this machine (most virtual ones). ret_units: the kinds. sys_root: "/sys". */
unsigned branches_recorded(const char *sys_root, struct samples_units *ret_units);
/* From now on, of the process's threads that are there, 64 at most, on cores of these kinds; taken by samples_take(). 0; -ESRCH; -EOPNOTSUPP or
 * another -errno where the kernel does not let it be used. */
int branches_open(const char *proc_root, uint32_t pid, const struct samples_units *units, struct samples **ret);
