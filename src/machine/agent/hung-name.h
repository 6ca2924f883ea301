/* Services of the session that do not answer: each name on the session's bus is asked twice a minute whether it is there
 * (org.freedesktop.DBus.Peer.Ping, which libraries answer by themselves). One that has answered before, and has left the question open for six
 * seconds, hangs, once, until it answers. Programs with GLib answer in a thread of its own: of theirs only those that are stopped, starved
 * or without memory are found, not a main loop that is stuck; the window of such a program is (hung-window.h).
 */
#pragma once

#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

struct hung_names;

/* `hangs` is called with the process and how it hangs. 0 or -errno. The bus is attached to the loop. */
int hung_names_open(sd_event *event, sd_bus *user, void (*hangs)(uint32_t pid, const char *how, void *data), void *data, struct hung_names **ret);
/* NULL is allowed. */
void hung_names_close(struct hung_names *h);
