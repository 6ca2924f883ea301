/* Sums the waits of a tree of stacks (machine/view-waits/waits.h, waits_fold_stacks() with `waits`) by what their stacks say they were for. */
#pragma once

#include "lib/data/tree.h"
#include "machine/events/wait-reason.h"
#include "machine/rule/signature.h"

/* The caller frees with wait_reasons_free(). 0 or -ENOMEM. */
int wait_reasons_make(const struct path_tree *waits, const struct signatures *signatures, struct wait_reasons *ret);
