/* Finds what someone uses right now: the process of the active window, as window managers publish it under X11
 * (_NET_ACTIVE_WINDOW of the root window, _NET_WM_PID of that one). Wayland tells nothing. */
#pragma once

#include <stdint.h>

/* 0; -ENOENT: no X server is to be asked (DISPLAY), or none of its windows is active, or it does not say
 * whose it is. */
int foreground_find(uint32_t *ret_pid);
