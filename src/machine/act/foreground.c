#include "machine/act/foreground.h"

#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/system/library.h"

struct xlib {
	LIBRARY_CALL(XOpenDisplay);
	LIBRARY_CALL(XCloseDisplay);
	LIBRARY_CALL(XDefaultRootWindow);
	LIBRARY_CALL(XInternAtom);
	LIBRARY_CALL(XGetWindowProperty);
	LIBRARY_CALL(XSetErrorHandler);
	LIBRARY_CALL(XFree);
};

static const struct library_symbol symbols[] = {
	LIBRARY_SYMBOL(struct xlib, XOpenDisplay),
	LIBRARY_SYMBOL(struct xlib, XCloseDisplay),
	LIBRARY_SYMBOL(struct xlib, XDefaultRootWindow),
	LIBRARY_SYMBOL(struct xlib, XInternAtom),
	LIBRARY_SYMBOL(struct xlib, XGetWindowProperty),
	LIBRARY_SYMBOL(struct xlib, XSetErrorHandler),
	LIBRARY_SYMBOL(struct xlib, XFree),
};
static const struct library library = {"libX11.so.6", "libx11-6", symbols, ARRAY_SIZE(symbols)};

/* A window may be closed between the two questions; Xlib's own handler would end this process. */
static int ignore(Display *display, XErrorEvent *e)
{
	(void)display;
	(void)e;
	return 0;
}

/* Properties of 32 bits come as longs. */
static int get_number(const struct xlib *x, Display *display, Window window, const char *name, Atom type,
		      unsigned long *ret)
{
	unsigned char *value = NULL;
	unsigned long n = 0, left;
	Atom actual;
	int format, r = -ENOENT;

	if (x->XGetWindowProperty(display, window, x->XInternAtom(display, name, False), 0, 1, False, type,
				  &actual, &format, &n, &left, &value) == Success &&
	    value && n == 1 && format == 32) {
		*ret = *(unsigned long *)value;
		r = *ret ? 0 : -ENOENT;
	}
	if (value)
		x->XFree(value);
	return r;
}

int foreground_find(uint32_t *ret_pid)
{
	_cleanup_free_ char *error = NULL;
	const char *name = getenv("DISPLAY");
	unsigned long window, pid;
	Display *display;
	struct xlib x;
	int r;

	if (!name || !*name || library_load(&library, &x, &error) < 0)
		return -ENOENT;
	display = x.XOpenDisplay(NULL);
	if (!display)
		return -ENOENT;
	x.XSetErrorHandler(ignore);
	r = get_number(&x, display, x.XDefaultRootWindow(display), "_NET_ACTIVE_WINDOW", XA_WINDOW, &window);
	r = r ?: get_number(&x, display, window, "_NET_WM_PID", XA_CARDINAL, &pid);
	x.XCloseDisplay(display);
	if (r == 0)
		*ret_pid = (uint32_t)pid;
	return r;
}
