/* The name that a thread asks a name server for: the query (RFC 1035, 4.1) lies on the thread's stack while glibc's resolver waits for the
 * answer. A heuristic: the youngest that lies there. */
#pragma once

#include "machine/answer-live/live-thread.h"

#define NAME_MAX_LENGTH 254 /* RFC 1035, 2.3.4: 255 bytes on the wire */

/* False: none is found, or the stack is not to be read. */
bool name_query_find(const char *proc_root, const struct live_thread *t, char ret[NAME_MAX_LENGTH]);
