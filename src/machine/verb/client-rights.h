/* A process that works for another user gives root's rights up (lib/rights/fewer-rights.h) as soon as what only root may open is open.
 *
 * A verb that the recorder runs does so before it reads the recording: by itself (RIGHTS_GIVEN_UP_BY_VERB: what it needs of the flight
 * recorder it copies first) or before it runs (RIGHTS_GIVEN_UP). A verb that changes something keeps what that takes, and no more. For
 * root, and where no recorder is asked, nothing of this happens. */
#pragma once

#include "machine/verb/verb.h"

enum { CLIENT_SAVES_ANSWERS = 1, CLIENT_READS_MAPS = 2 };

/* To answer as the asker. Once; later calls do nothing. No store is open if CLIENT_SAVES_ANSWERS is wanted (it forks, which SQLite does
 * not survive). 0; an exit status, after saying why there is no answer. */
int client_give_up_rights(struct common *common, unsigned wants);
/* To write marks, their notes, feedback and answers: as root, who can then open the recording and what lies next to it, and the run dir.
 * To be called before the store is opened. As above. */
int client_keep_writing(struct common *common);
/* To hold the asker's processes back and to release them: as root, who can then write to the run dir and to control groups, and change
 * classes and priorities. As above. */
int client_keep_holding(struct common *common, unsigned wants);
/* Has `work` done by a process of its own, which may give up rights that this one needs later. It fills `result`, of `size` bytes; what
 * comes from a process with fewer rights is to be checked as any input. Returns its exit status, or EXIT_CANNOT where it died. No store
 * is open. */
int client_work_apart(struct common *common, int (*work)(struct common *common, const void *data, void *result), const void *data, void *result,
		      size_t size);
/* Is this an answer to another user that still has root's rights? */
bool client_has_rights_left(const struct common *common);
/* What was held for the answer. */
void client_close(struct common *common);
