/* Binary search in whatever is in order. */
#pragma once

#include <stddef.h>

/* How many of 0 ... n - 1 come first: `before` is an expression of `i` that holds of those and of none behind them.
 *
 *   size_t at = COUNT_BEFORE(list.n, i, list.v[i].time < time);   the first one at or after `time`, list.n if there is none
 */
#define COUNT_BEFORE(n, i, before)                            \
	({                                                    \
		size_t low_ = 0, high_ = (n);                 \
                                                              \
		while (low_ < high_) {                        \
			size_t i = low_ + (high_ - low_) / 2; \
                                                              \
			if (before)                           \
				low_ = i + 1;                 \
			else                                  \
				high_ = i;                    \
		}                                             \
		low_;                                         \
	})
