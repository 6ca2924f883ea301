#include "machine/act/foreground.h"

#include <errno.h>

#include "lib/data/cleanup.h"
#include "lib/system/x-server.h"

int foreground_find(uint32_t *ret_pid)
{
	_cleanup_free_ char *error = NULL;
	unsigned long window, pid = 0;
	struct x_server x = {};

	if (x_server_open(&x, &error) < 0)
		return -ENOENT;
	if (x_server_values(&x, x.root, x.XInternAtom(x.display, "_NET_ACTIVE_WINDOW", False), XA_WINDOW, &window, 1) != 1 || !window ||
	    x_server_values(&x, window, x.XInternAtom(x.display, "_NET_WM_PID", False), XA_CARDINAL, &pid, 1) != 1)
		pid = 0;
	x_server_close(&x);
	if (!pid)
		return -ENOENT;
	*ret_pid = (uint32_t)pid;
	return 0;
}
