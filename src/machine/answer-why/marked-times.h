/* Times of incidents: what must not be learned as the baseline. Any user may press the button, so there may be thousands of
 * marks beside tens of thousands of ticks: they become few intervals, and a time is found among them by a binary search. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/vec.h"
#include "machine/recording/store.h"

struct marked_time {
	int64_t from, to; /* wall ns, inclusive */
};

struct marked_times {
	VEC(struct marked_time) list; /* apart from each other, ascending */
};

/* From `before` ns before the first press of each mark to `after` ns behind its last; with or without what rules caught, and
 * without the mark of the moment that is asked about (`asked`, wall ns), whose incident is looked for anyway. Marks come in any order. 0 or -ENOMEM; marked_times_free() either way. */
int marked_times_collect(const struct mark *marks, size_t n, int64_t before, int64_t after, bool with_caught, int64_t asked, struct marked_times *ret);
void marked_times_free(struct marked_times *m);
/* Does any of [from, to] lie in one? */
bool marked_times_touch(const struct marked_times *m, int64_t from, int64_t to);
