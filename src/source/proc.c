/* Processes by /proc, where BPF cannot be had: an old kernel, or no rights. */
#include <errno.h>

#include "source/source.h"

static int proc_open(const struct source_options *options, void **ret_state, const char **ret_why)
{
	(void)options, (void)ret_state;
	*ret_why = "not built yet";
	return -EOPNOTSUPP;
}

const struct source source_proc = {.name = "proc", .help = "processes by /proc", .open = proc_open};
