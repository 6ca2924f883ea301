/* A connection to the X server, by libX11, which is loaded when the first one is opened. */
#pragma once

#include <X11/XKBlib.h>
#include <X11/Xatom.h>
#include <X11/Xlib.h>

#include "lib/system/library.h"

#define X_CALLS(CALL) \
	CALL(XOpenDisplay) CALL(XCloseDisplay) CALL(XConnectionNumber) CALL(XDefaultRootWindow) CALL(XSetErrorHandler) CALL(XSync) CALL(XFlush) \
	CALL(XPending) CALL(XNextEvent) CALL(XSendEvent) CALL(XSelectInput) CALL(XInternAtom) CALL(XGetWindowProperty) CALL(XFree) \
	CALL(XStringToKeysym) CALL(XKeysymToKeycode) CALL(XGrabKey) CALL(XkbSetDetectableAutoRepeat)

struct x_server {
	X_CALLS(LIBRARY_CALL)
	Display *display;
	Window root;
};

/* Connects to the server that DISPLAY names. 0; -ENOENT without the library, -ECONNREFUSED without a server, with *ret_error (caller frees). */
int x_server_open(struct x_server *x, char **ret_error);
/* Does nothing for one that is not open. */
void x_server_close(struct x_server *x);
/* How many requests of this process servers have refused so far: a window may be closed between two questions. Xlib's own handler would end the process. */
unsigned x_server_errors(void);
/* A property's values of 32 bits, at most `most`, each as a long; how many there are. */
unsigned long x_server_values(const struct x_server *x, Window window, Atom name, Atom type, unsigned long *values, unsigned long most);
