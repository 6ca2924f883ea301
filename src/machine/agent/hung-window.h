/* Windows that do not answer: the program of the active window is asked every two seconds whether it handles its events, by the question
 * that window managers ask before they offer to end a program (_NET_WM_PING of the Extended Window Manager Hints). One that has left it
 * unanswered for six seconds hangs, once, until it answers. Only the active window is asked: a person waits for no other, and the
 * programs that are left alone sleep on. Works under X11; Wayland asks in private.
 */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

struct hung_windows;

/* `hangs` is called with the process of a window, and how it hangs. 0; -ENOENT without an X server (DISPLAY), or -errno. */
int hung_windows_open(sd_event *event, void (*hangs)(uint32_t pid, const char *how, void *data), void *data, struct hung_windows **ret);
/* NULL is allowed. */
void hung_windows_close(struct hung_windows *h);
