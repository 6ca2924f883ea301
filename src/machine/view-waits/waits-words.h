/* Within the views of waits: names and numbers as people write them. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/data/str.h"
#include "machine/view-waits/waits.h"

#define LABEL_SIZE 96

/* "412 ms", "1.23 s", "64 us": three digits. buf of 32 bytes. */
char *waits_short_span(int64_t ns, char *buf, size_t n);
/* "nginx (812)", "nginx (812) thread 815". */
char *waits_thread_label(const struct timeline *t, uint32_t thread, char *buf, size_t n);
/* A victim, culprit or via of a matrix at its level. */
char *waits_member_label(const struct timeline *t, const struct blame_matrix *m, uint32_t id, char *buf, size_t n);
/* The one that a cell charges: "ffmpeg (4215)", "interrupt 24", "the disk itself" ... */
char *waits_culprit_label(const struct timeline *t, const struct blame_matrix *m, const struct blame_cell *c, char *buf, size_t n);
const char *waits_culprit_name(enum blamed by); /* as in JSON */
const char *waits_waker_word(uint8_t waker_kind); /* "task", "timer" ... */
const char *waits_softirq_name(uint32_t vector);
/* "14:03:11.203" */
char *waits_clock_of_day(const struct timeline *t, int64_t at, char *buf, size_t n);
/* How the culprit was in the way of the one the victim waited for; "" when there is none. */
char *waits_via(const struct timeline *t, const struct blame_matrix *m, const struct blame_cell *c, char *buf, size_t n);

/* How a culprit held up the holder of a lock, by `root` of the cell: "kept it from a CPU". */
const char *waits_act(uint8_t root, char *buf, size_t n);

/* In place of what lies outside of the frames to be believed: trace_stack_depth(). */
#define NO_FRAME_POINTERS "[no frame pointers]"
/* A frame of a process's stack (addresses of the kernel are above all others): its function, or "libc.so.6+0x1234". */
void waits_frame(const struct timeline *t, uint32_t process, uint64_t address, struct str *out);

/* The frames of a stack that are to be believed, innermost first. `probed`: it was taken within a tracepoint's call, whose own frames are left
 * out. *ret_astray: there are more, which are not believed. How many; 0 for a stack that was not taken. */
size_t waits_stack(const struct timeline *t, uint32_t process, stack_ref ref, bool probed, const uint64_t **ret_frames, bool *ret_astray);
/* "main > work > pthread_mutex_lock > futex_wait": the innermost frames of n stacks, which are given from the innermost on. */
void waits_stack_text(const struct timeline *t, uint32_t process, const stack_ref *refs, size_t n, bool probed, struct str *out);

/* Another user's, of whom a viewer may not see as much (machine/events/trace-redact.h); and whether anybody is. */
bool waits_thread_is_hidden(const struct timeline *t, uint32_t thread);
bool waits_others_are_hidden(const struct timeline *t);

/* The span really covered, what is missing of it. */
void waits_put_span(const struct timeline *t, int64_t from, int64_t to, const struct waits_options *o,
		    FILE *out);

/* What the JSON of all of them has in common: the window and what was amiss in it, a victim or culprit, the sums by wait. */
json_t *waits_window_json(const struct timeline *t, int64_t from, int64_t to);
json_t *waits_thread_json(const struct timeline *t, uint32_t thread);
json_t *waits_who_json(const struct timeline *t, const struct blame_matrix *m, uint32_t id);
/* The tree of "whyslow.flame/1"; next to it the values of another one (NULL = none), multiplied by `scale`. null where both are empty. */
json_t *waits_tree_json(const struct path_tree *tree, const struct path_tree *base, double scale);
json_t *waits_totals_json(const struct blame_matrix *m);
