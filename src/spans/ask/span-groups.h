/* The versions of each bucket against the older ones, or against all others; since when: `whyslow spans groups`. */
#pragma once

#include "spans/compare/groups.h"
#include "spans/forest/bucket-choice.h"

/* `f` is finished and outlives *ret, which is to be freed in both cases. choice NULL = all buckets. 0 or -ENOMEM. */
int span_groups_judge(const struct forest *f, const struct bucket_choice *choice, const struct group_options *o, struct span_groups *ret);
