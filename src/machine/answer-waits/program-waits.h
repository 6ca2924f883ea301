/* What one program waits for, and normally waited for: from the recording. */
#pragma once

#include "machine/events/program-waits.h"
#include "machine/model/dataset.h"
#include "machine/recording/store.h"

/* Of the one that is meant by `who` (a pid, unit or name) within [from, at] (wall ns), or of the days before only the same hour: name, pids and waits of *ret are filled in. The sum over
 * all processes that are meant; now is the last PROGRAM_NOW of them, the baseline what lies before. 0; -ESRCH: no such program was there;
 * -ENODATA: nothing is recorded then (that the viewer may know of); or as store_load_filtered(). */
#define PROGRAM_NOW (5 * 1000000000ll)
int program_waits_read(struct store *store, const char *who, int64_t from, int64_t at, bool same_hour, const struct viewer *viewer, struct program_waits *ret);
/* The same of a dataset. */
int program_waits_of(const struct dataset *d, const char *who, int64_t at, bool same_hour, struct program_waits *ret);
/* Takes what events say of now where it is more than the counters have: those of who sleeps are read every few ticks only. r: of all the
 * program's threads, over the last PROGRAM_NOW. 0 or -ENOMEM. */
int program_waits_add_events(struct program_waits *p, const struct wait_report *r);
