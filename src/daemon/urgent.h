/* Real-time priority, for what must run at once on a machine that crawls and takes little: a question, and the copy of the flight
 * recorder. Above most real-time programs and threaded interrupts (50), which would starve both. */
#pragma once

#include <stdbool.h>

#define URGENT_PRIORITY 51

/* For the calling thread, not for what it starts; or back to the usual. 0, or -EPERM without the right to it: nothing has happened. */
int urgent_set(bool urgent);
