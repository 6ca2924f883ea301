/* When did a series change its level, and did it come back? */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One window of time. */
struct window {
	double count; /* effective number of samples; 0 = nothing happened then */
	double mean;
	double variance; /* of the population */
};

struct change_point {
	size_t at;	       /* the first window of the new level */
	size_t until;	       /* the first window of the old level again; n = it continues */
	double before, during; /* the mean by count, and by how much more the new level is without the cycle's part in it */
	double z;	       /* of the change, in deviations of what windows differ by */
	double p;	       /* of the greatest of all splits */
};

/* Does the level of the series follow `share` (0 to 1 for each window: of what may have changed it), surely (p <= level), and does no change at
 * other moments explain clearly more? Next to a cycle of `period` windows, or to a line where less than half a cycle is there. At most the last
 * 512 windows. */
bool change_follows(const struct window *windows, const double *share, size_t n, double period, double level);

/* The split (or the two) of n windows that explains most, by weighted least squares: the CUSUM statistic of Page and
 * Hinkley with two changes allowed. Windows vary by sampling and by themselves (a daily cycle, neighbors in the same way): the
 * spread is learnt from differences of neighboring windows, which a few changes cannot move, and p is that of the
 * greatest of all splits, by permutation (beyond 499 of them by the distribution of their maxima, and as soon as ten were
 * greater by those; seeded, the same for the same input), where neighbors that are in the same way count for as much less as their
 * autocorrelation says. That a level came back is reported only where that explains more than chance would.
 * Windows may also follow a cycle of `period` of them (those of a day; 0 = none), if more than a sixth of one is there: then a change
 * is what two levels next to the cycle explain better than the cycle alone (where less is there, better than a slow rise), and p is by permutation of what the cycle leaves over.
 * Returns whether p <= level and fills *ret (always, where there are four windows or more with something in them). */
bool change_find(const struct window *windows, size_t n, double period, double level,
		 struct change_point *ret);
