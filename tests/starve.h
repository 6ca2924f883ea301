/* Allocations that fail, and a count of those that are not freed: of the program's own code, by the linker (--wrap). Link
 * tests/starve.c with the arguments that tests/meson.build names `starve_args`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Counts from 0 again. The n-th allocation fails (the first is 1; 0 = none), and where `lasts` all that follow. */
void starve_at(unsigned n, bool lasts);
/* Allocations since then, those that failed included. */
unsigned starve_count(void);
/* Blocks that the program allocated at any time and that are not freed. */
size_t starve_live(void);
