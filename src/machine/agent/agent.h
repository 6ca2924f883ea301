/* A session's agent: the button on the keyboard, programs that do not answer, and desktop notifications of what it marked and of what the
 * recorder caught. A root daemon cannot post to a user's bus. */
#pragma once

#include <stdbool.h>

#include "machine/client/ask.h"

struct agent_options {
	const char *key;    /* "Scroll_Lock"; "none" = no button */
	const char *way;    /* as hotkey.h; NULL = what the session has */
	const char *device; /* as hotkey.h */
	bool hangs;	    /* whether programs that do not answer are looked for: in the active window, on terminals, on the session's bus */
	struct asker asker; /* who marks and answers */
};

/* Runs until SIGTERM or SIGINT. 0, or -errno after having said why on the log. */
int agent_run(const struct agent_options *options);
