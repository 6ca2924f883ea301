/* The same work on many things, by as many threads as there are CPUs. */
#pragma once

#include <stddef.h>

/* Calls work(data, i) once for each i below n, in any order; it returns 0 or -errno. threads: at most so many, this one
 * included; 0 = as many as there are CPUs. Without further threads this one does it all. After an error no more is begun, and
 * it is returned. Threads of a caller with real-time priority have that priority, too, for as long as the caller has it; where the rights
 * to that are missing, the caller does it all. */
int parallel_run(unsigned threads, size_t n, int (*work)(void *data, size_t i), void *data);
