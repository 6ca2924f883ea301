/* The parts of an inspection that are words. */
#pragma once

#include "machine/answer-inspect/inspect.h"

/* One sentence for someone who knows nothing of threads. The caller frees; NULL without memory. */
char *inspect_summary(const struct inspection *n);
/* The control group's limits, and how near to the process's own it is. */
void inspect_read_limits(const char *proc_root, uint32_t pid, struct inspection *n);
