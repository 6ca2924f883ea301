/* Who always did something and now does nothing: where nothing is short, it may be that it waits for what does not come. */
#pragma once

#include "machine/model/dataset.h"

/* Finds, among the programs that are there at tick `at` and have run for a minute at the least, the one that ran most of those that now rest for at
 * least four seconds, and four times as long as they ever did before: one of its processes, and for how long. NULL = no one. 0 or -ENOMEM. */
int quiet_find(const struct dataset *d, uint32_t at, const struct subject **ret, int64_t *ret_ns);
