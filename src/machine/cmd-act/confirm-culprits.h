/* Whom an answer names: of a mark, or of now. */
#pragma once

#include "machine/answer-why/culprit-list.h"
#include "machine/verb/verb.h"

/* mark: 0 = now. EXIT_ANSWERED and *ret, of which something may be tried (culprit_list_free()); or another exit status after having
 * said why not on standard error. */
int confirm_culprits(struct common *common, int64_t mark, struct culprit_list *ret);
