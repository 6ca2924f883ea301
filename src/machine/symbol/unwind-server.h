/* What runs without rights (lib/rights/sandbox.h) and walks stacks: it reads call frame information from the files that unwind.c
 * hands to it. A request is the greatest number of frames, the registers and the stack's bytes; the answer whether the
 * walk was complete, and the addresses; an empty one says that nothing could be walked. It asks for a module's file by
 * the module's index. */
#pragma once

#include "lib/data/hmap.h"
#include "lib/rights/sandbox.h"
#include "machine/symbol/unwind.h"

#define UNWIND_FRAMES_MAX 256

/* The one stack being walked: libdwfl asks for it in pieces. */
struct unwind_walk {
	const uint64_t *registers;
	const uint8_t *stack;
	size_t n;
	uint64_t *frames;
	size_t max, found;
};

struct unwind_server {
	const struct modules *modules;
	const struct hmap *refused; /* (index of a module, 0) -> any: those whose file ended a server before */
	void *dwfl;		    /* NULL: not begun */
	struct unwind_walk walk;
};

/* A sandbox_handler; data = struct unwind_server. */
void unwind_server_handle(void *data, struct sandbox_request *request, struct str *answer);
