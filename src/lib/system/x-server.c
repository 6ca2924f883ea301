#include "lib/system/x-server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/str.h"

static const struct library library = LIBRARY("libX11.so.6", "libx11-6", X_CALLS);

static unsigned errors;

static int count_error(Display *display, XErrorEvent *e)
{
	(void)display, (void)e;
	errors++;
	return 0;
}

unsigned x_server_errors(void)
{
	return errors;
}

int x_server_open(struct x_server *x, char **ret_error)
{
	const char *name = getenv("DISPLAY");
	int r = library_load(&library, x, ret_error);

	if (r < 0)
		return r;
	x->display = name && *name ? x->XOpenDisplay(name) : NULL;
	if (!x->display)
		return str_fail(ret_error, -ECONNREFUSED, "the X server %s does not answer", name && *name ? name : "(DISPLAY is not set)");
	x->XSetErrorHandler(count_error);
	x->root = x->XDefaultRootWindow(x->display);
	return 0;
}

void x_server_close(struct x_server *x)
{
	if (x->display)
		x->XCloseDisplay(x->display);
	x->display = NULL;
}

unsigned long x_server_values(const struct x_server *x, Window window, Atom name, Atom type, unsigned long *values, unsigned long most)
{
	unsigned char *found = NULL;
	unsigned long n = 0, left;
	Atom actual;
	int format;

	if (x->XGetWindowProperty(x->display, window, name, 0, (long)most, False, type, &actual, &format, &n, &left, &found) != Success || !found ||
	    format != 32)
		n = 0;
	memcpy(values, found ? found : (unsigned char *)"", n * sizeof(*values));
	if (found)
		x->XFree(found);
	return n;
}
