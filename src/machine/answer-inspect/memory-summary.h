/* The mappings of a process, summed by what they are of (/proc/PID/smaps). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "machine/findings/inspection.h"

#define MEMORY_KINDS_SHOWN 15 /* all others are summed up */

/* Fills n->memory, the largest in memory or swap first. For that time, 10 ms for each GB or so, the kernel holds the process's map. 0; -EACCES, -ESRCH,
 * -ENOMEM. */
int memory_summary_read(const char *proc_root, uint32_t pid, struct inspection *n);
