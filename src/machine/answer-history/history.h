/* Finds what was unusual in an interval of the recording, minute by minute, without a press of the button: the machine's pressures, and
 * what programs did. Read from the recording when it is asked for, an hour at a time, and of each process only five sums: nothing is
 * computed while recording. */
#pragma once

#include "machine/findings/history.h"
#include "machine/model/visibility.h"
#include "machine/recording/store.h"

#define HISTORY_MINUTES_MAX  (62 * 1440u) /* two months: 90,000 minutes, 12 bytes each, and what programs did in them */
#define HISTORY_PROGRAMS_MAX 5000	  /* names of programs are chosen by users: later ones count for nothing */

/* who: only programs that it means (entity_matches()); NULL = all, and the machine. What the viewer may not see is left out. 0; -EINVAL:
 * longer than HISTORY_MINUTES_MAX or empty; -ENODATA: nothing is recorded then; or as store_load(). */
int history_read(struct store *store, int64_t from, int64_t to, const char *who, const struct viewer *viewer, struct history *ret);
