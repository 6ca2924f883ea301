/* whyslow export --format folded: stacks for flame graphs, as text; with --json as a tree, also next to another window's. */
#pragma once

#include "machine/cmd-waits/trace-open.h"

struct folded_options {
	struct trace_request events;
	bool waits;
	const char *who; /* a PID or a thread's number; NULL = all */
	const char *base_mark, *base_since, *base_until; /* --json: compared with this; all NULL = with nothing */
};

/* The exit status. */
int export_folded(const struct common *common, const struct folded_options *o, FILE *out);
