/* The recorder's thread that writes to the disk: copies the journal to the store, compacts finished segments, deletes old
 * ones. What cannot be written stays in memory, is tried again, and is said once. */
#pragma once

#include <stdint.h>

#include "lib/data/config.h"

struct writer;

/* Opens the recording, and takes in what an earlier recorder left. *ret_first_id: the first id no entity has. 0 or -errno,
 * said in the log. */
int writer_open(const struct config *config, struct writer **ret, uint32_t *ret_first_id);
int writer_start(struct writer *w);
/* In words how the clock differs from what the recording's end says, found when it was opened; NULL = it does not. */
const char *writer_clock_remark(const struct writer *w);
/* The id of a segment that begins at this wall time: one that no other has, also where the clock was set back. For the sampler alone. */
int64_t writer_give_id(struct writer *w, int64_t wall);
/* `segment` is the one that is being written; those before it are finished. */
void writer_save(struct writer *w, int64_t segment);
/* Only looks whether the file is still there, which wakes no disk. */
void writer_look(struct writer *w, int64_t segment);
void writer_finish(struct writer *w, int64_t segment);
/* How long and how much to keep, from the settings. */
void writer_keep(struct writer *w, const struct config *config);
/* Ends the thread, after it finished the last segment (where there is one), and the marks next to the journal. */
void writer_stop(struct writer *w, bool finish);
void writer_close(struct writer *w);
