/* The findings of an incident's inspections, distinguished by phase. */
#pragma once

#include "machine/recording/store.h"

/* As store_captures(); where the incident had more than one phase, summaries and texts begin with theirs: "phase 2: ". */
int captures_by_phase(struct store *store, int64_t mark, struct capture **ret, size_t *ret_n);
