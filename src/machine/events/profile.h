/* Stacks by program and minute: where programs ran and where they waited, for days.
 *
 *   profile -> rows (minute, program, stack, ns) -> stacks (frames, innermost first) -> frames (a name, or a place in a module)
 *
 * A frame without a name has a place that can be named later, on any machine that has the file: path, build-id and offset. Texts, modules,
 * frames and stacks are kept once each and have numbers that only grow, so that a file can be continued (machine/trace/pprof.h).
 * A wait that another thread ended has both stacks in one: the sleeper's below, then a frame "[woken by PROGRAM]", then the waker's, turned
 * round, so that both innermost frames meet there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "machine/model/visibility.h"

#define PROFILE_FRAMES_MAX 256 /* of a stack */
#define PROFILE_CHAIN_MAX  (32u << 20) /* frames of all stacks: 128 MB */
#define PROFILE_WOKEN_BY   "[woken by "

struct profile_module {
	char *path;
	uint8_t build_id_size; /* 0 = not known */
	uint8_t build_id[20];
};

struct profile_frame {
	uint32_t name;	 /* text; 0 = only the place is known */
	uint32_t module; /* index + 1; 0 = none */
	uint64_t offset; /* in the module's file; of a caller less one byte, so that it lies within the call */
};

struct profile_stack {
	uint32_t first, n; /* in `chain` */
};

struct profile_row {
	int64_t minute;		 /* since 1970, UTC; 0 = not known */
	uint32_t program, stack; /* text; index */
	uint32_t uid, waker_uid; /* whose the program is, and the one that woke it (the same where no other did) */
	uint64_t cpu, waited;	 /* ns */
};

struct profile {
	VEC(char *) texts; /* 0 is "" */
	VEC(struct profile_module) modules;
	VEC(struct profile_frame) frames;
	VEC(uint32_t) chain;
	VEC(struct profile_stack) stacks; /* 0 has no frame */
	VEC(struct profile_row) rows;
	struct hmap text_ids, module_ids, frame_ids, stack_ids, row_ids; /* -> number + 1 */
};

/* 0 or -ENOMEM, as all that follows. */
int profile_begin(struct profile *p);
void profile_free(struct profile *p);

int profile_text(struct profile *p, const char *text, uint32_t *ret);
/* Copies the path. */
int profile_module(struct profile *p, const char *path, const uint8_t *build_id, uint8_t build_id_size, uint32_t *ret);
int profile_frame(struct profile *p, const struct profile_frame *frame, uint32_t *ret);
/* A frame that is nothing but a name. */
int profile_named_frame(struct profile *p, const char *name, uint32_t *ret);
/* Frames innermost first; beyond PROFILE_FRAMES_MAX the outermost are left out. -E2BIG beyond PROFILE_CHAIN_MAX. */
int profile_stack(struct profile *p, const uint32_t *frames, size_t n, uint32_t *ret);
/* Adds to the row that differs in cpu and waited alone. */
int profile_add(struct profile *p, const struct profile_row *row);
/* The rows from here on are a list of their own: profile_add() adds to none before. */
void profile_close_rows(struct profile *p);

/* Which rows are copied. */
struct profile_wish {
	int64_t from, to;      /* minutes, `to` excluded; both 0 = all, also without a minute */
	const char *program;   /* NULL = all */
	struct viewer viewer;  /* of other users' programs: sums by program, without a stack or who woke them (visibility.h) */
};
/* Copies rows, and of all else only what these rows need. */
int profile_copy(struct profile *to, const struct profile *from, const struct profile_wish *wish);

/* The number of a stack's innermost frames that belong to the waker, the frame between both included; 0 = none. */
uint32_t profile_waker_frames(const struct profile *p, uint32_t stack);
static inline const char *profile_text_of(const struct profile *p, uint32_t text)
{
	return p->texts.v[text];
}
