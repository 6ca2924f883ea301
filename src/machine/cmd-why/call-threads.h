/* Which threads of a server handled one call. */
#pragma once

#include <stddef.h>

#include "machine/events/interval.h"

#define CALL_BEGAN_BEFORE INT64_MIN /* the events do not reach back to its beginning */

/* Who handled a call took the time at its beginning and at its end, so it had a CPU then, or wanted one: all other threads of a server wait, for
 * other requests or for none. Puts those of the n threads first. How many they are; 0: none, the window is not that of a call. */
size_t call_threads(const struct timeline *t, int64_t begin, int64_t end, uint32_t *threads, size_t n);
