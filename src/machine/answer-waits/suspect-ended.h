/* Whether a suspect still runs. */
#pragma once

#include "machine/findings/finding.h"
#include "machine/model/dataset.h"

/* How long before a moment (wall ns) the last process of the suspect's program or job was seen; 0 = it continues, or it has none of its own. */
int64_t suspect_ended(const struct dataset *d, const struct suspect *top, int64_t asked);
/* Whether both are processes of one program; of short-lived processes only the name is known. */
bool suspect_shares_program(const struct subject *s, const struct subject *one);
