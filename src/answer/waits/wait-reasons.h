/* Sums the waits of a tree of stacks (view/waits/waits.h, waits_fold_stacks() with `waits`) by what their stacks say they were for. */
#pragma once

#include "model/event/wait-reason.h"
#include "model/machine/tree.h"
#include "rule/signature.h"

/* The caller frees with wait_reasons_free(). 0 or -ENOMEM. */
int wait_reasons_make(const struct path_tree *waits, const struct signatures *signatures, struct wait_reasons *ret);
