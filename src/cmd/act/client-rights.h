/* An answer to another user's question gives up root's rights (base/system/fewer-rights.h) as soon as what only root may open is open.
 *
 * A verb that the recorder answers does so before it reads the recording: by itself (RIGHTS_GIVEN_UP_BY_VERB: what it needs of the flight
 * recorder it copies first) or before it runs (RIGHTS_GIVEN_UP). Verbs that change something (RIGHTS_KEPT) take a few words and read no more
 * than marks. For root, and where no recorder is asked, nothing of this happens. */
#pragma once

#include "cmd/verbs/verb.h"

enum { CLIENT_SAVES_ANSWERS = 1, CLIENT_READS_MAPS = 2 };

/* Once; later calls do nothing. No store is open if CLIENT_SAVES_ANSWERS is wanted (it forks, which SQLite does not survive). 0; an exit
 * status, after saying why there is no answer. */
int client_give_up_rights(struct common *common, unsigned wants);
/* Is this an answer to another user that still has root's rights? */
bool client_has_rights_left(const struct common *common);
/* What was held for the answer. */
void client_close(struct common *common);
