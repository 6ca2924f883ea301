/* Sums the waits of a tree of stacks (machine/view-waits/waits.h, waits_fold_stacks() with `waits`) by what their stacks say they were for. */
#pragma once

#include "lib/data/tree.h"
#include "machine/events/wait-reason.h"
#include "machine/rule/signature.h"

/* For one stack: functions from the outermost to the innermost, the kernel's ending in "_[k]". The caller frees *ret_name; NULL for
 * REASON_UNKNOWN, or without memory. *ret_words are the signature's, or NULL. */
enum wait_reason_kind wait_reason_find(const struct signatures *signatures, const char *const *functions, size_t n, char **ret_name, const char **ret_words);
/* The caller frees with wait_reasons_free(). 0 or -ENOMEM. */
int wait_reasons_make(const struct path_tree *waits, const struct signatures *signatures, struct wait_reasons *ret);
