/* An instrument's record of one thread (machine/events/capture.h) as frames with names: unwound, symbolized, its texts kept. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/hmap.h"
#include "lib/data/str.h"
#include "machine/events/capture.h"
#include "machine/symbol/symbolize.h"
#include "machine/symbol/unwind.h"

#define FRAMES_MAX 128 /* of the kernel's side of a chain, and of the user's */

struct frame {
	const char *name;  /* for trees: functions as a whole */
	const char *place; /* "stress+0x11e4" */
	const char *start; /* "stress+0x11d0" */
	const char *file;
	uint32_t line;
	bool kernel, foreign; /* foreign: the C library's, no function of the program's own */
	bool stub;	      /* where every thread begins */
};

/* Innermost first, the kernel's before the user's. */
struct chain {
	struct frame frames[2 * FRAMES_MAX];
	size_t n, n_kernel;
	bool complete; /* it reaches its thread's beginning */
};

struct frame_namer {
	char *proc_root;
	uint32_t pid;
	struct modules modules;
	struct unwinder *unwinder;
	struct symbolizer *symbolizer;
	int64_t modules_at;    /* boot ns */
	struct hmap texts;     /* (hash, length) -> char * */
	uint64_t nameless[16]; /* frames, by reason */
	uint64_t chains, incomplete;
	VEC(const char *) damaged; /* files by which earlier unwinders ended */
};

/* 0, -ESRCH, -EACCES, -errno; close it in either case. */
int frame_namer_open(const char *proc_root, uint32_t pid, struct frame_namer *ret);
void frame_namer_close(struct frame_namer *n);
/* Files at which call chains end because they are damaged; NULL after the last. */
const char *frame_namer_damaged(const struct frame_namer *n, size_t index);
/* The text, printable, kept as long as the namer; equal texts have one address. Empties `text`. */
const char *frame_namer_keep(struct frame_namer *n, struct str *text);
/* `user` are the frames that frame pointers lead to. */
void frame_namer_name(struct frame_namer *n, const struct capture_thread *t, const uint64_t *user, struct chain *ret);
