/* WHAT IS MY COMPUTER DOING: one process, down to the instruction, in words first.
 *
 * Fed with what an instrument sees of its threads (machine/events/capture.h) while it looks; names it, adds it up by
 * thread, function and call path, and says what it means.
 */
#pragma once

#include <stdint.h>

#include "machine/findings/inspection.h"

struct inspector;

/* -ESRCH, -EACCES, -errno. */
int inspector_new(const char *proc_root, uint32_t pid, struct inspector **ret);
void inspector_free(struct inspector *i);
/* One thread at a moment (boot ns), or one sample; `user` are its frame pointers' frames. */
void inspector_take(struct inspector *i, const struct capture_thread *t, const uint64_t *user, int64_t now);
/* Takes only the place where the thread of a sample began: for callers that count instructions by other means. */
void inspector_take_beginning(struct inspector *i, const struct capture_thread *t, const uint64_t *user, int64_t now);
/* All threads were looked at: who is not among them has gone. */
void inspector_end_look(struct inspector *i, int64_t now);

/* Who it is, asked while it is there: the texts are taken over. Finds its package and limits, too. */
void inspector_describe(struct inspector *i, char *exe, char *cmdline, char *unit, char *container);

struct inspected_counts {
	const struct capture_file *files;
	unsigned n_files;
	uint64_t lost; /* samples */
};
/* Concludes what it all means. 0 or -ENOMEM; free with inspection_free(), before the inspector, whose texts it shows.
 */
int inspector_finish(struct inspector *i, const struct inspected_counts *counts, struct inspection *ret);
