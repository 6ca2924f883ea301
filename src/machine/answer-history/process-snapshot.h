/* The machine at one moment: every process, the most unusual first; the features of one; the series of a feature. */
#pragma once

#include "machine/answer-why/why.h"
#include "machine/findings/process-snapshot.h"

/* The verdict is that of why_from_store(); of the time `listed` before `at` (ns; request->recorded: of recorded time) all features of all processes are read,
 * too. request->only is not looked at; request->method is NULL for how unusual each is. 0 or as why_from_store(). */
int process_snapshot_load(struct store *store, const struct why_request *request, int64_t listed, struct process_snapshot *ret);
/* Adds what was recorded since, up to `to`; *ret_new = ticks added. 0 or -errno; the board must be ranked again. */
int process_snapshot_extend(struct process_snapshot *b, struct store *store, int64_t to, unsigned *ret_new);
/* Answers for a moment within what was loaded. 0 or as why_from_store(). */
int process_snapshot_rank(struct process_snapshot *b, struct store *store, const struct why_request *request);
void process_snapshot_free(struct process_snapshot *b);

/* Which of everybody: a pid, else the first of a unit, name or label. NULL if no one. */
const struct suspect *process_snapshot_find(const struct process_snapshot *b, const char *who);
/* Every process of [from, to] (wall ns), those that began or ended in it first, then by when they began; kernel threads are
 * left out. The caller frees with lives_free(). 0, -ENODATA, -ENOMEM, or as store_load(). */
int process_snapshot_lives(struct store *store, const struct viewer *viewer, int64_t from, int64_t to, struct lives *ret);
