/* News of what was caught, from the recorder to whoever sits at the machine: a signal on the system bus,
 * which the agents of the sessions (`whyslow agent`) turn into notifications.
 *
 *   path /org/whyslow, interface org.whyslow.Events, signal Caught(x id, s event: "begin" | "end", s note)
 */
#pragma once

#include <stdint.h>

#define ANNOUNCE_PATH	   "/org/whyslow"
#define ANNOUNCE_INTERFACE "org.whyslow.Events"
#define ANNOUNCE_SIGNAL	   "Caught"

struct announcer;

/* NULL where there is no system bus: then nobody is told. */
struct announcer *announcer_open(void);
void announcer_close(struct announcer *a);
/* Does not wait for anybody. */
void announce(struct announcer *a, int64_t id, const char *event, const char *note);
