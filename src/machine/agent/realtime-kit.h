/* Real-time priority for a user's process, from RealtimeKit (the package rtkit), which desktops have for their sound: it grants a low
 * one, with a bound on CPU time, to processes of the user who is logged in. */
#pragma once

#include <systemd/sd-bus.h>

/* For the calling thread, not for what it starts. After 0.1 s of CPU time without a pause the thread is at its normal priority for
 * good. Each of three answers is waited for at most a second. The priority (above 0), or -errno: nothing has changed. */
int realtime_kit_ask(sd_bus *system);
