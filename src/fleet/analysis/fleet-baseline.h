/* The default comparison: a window of a series against what is normal for it.
 *
 * Four things a fault may do are measured of a window of n rows: how far its mean lies from the normal mean (shift), how
 * far its farthest value lies from the normal median (peak), its largest step from row to row (jump), from USUAL_RUN_UP rows
 * before it on (a fault is noticed after it began), and how far its highest value lies from its lowest (range). The same is measured
 * of every n rows of the baseline; the mean of the 2.5th powers of those, to the 1/2.5, is what such a window normally has. The score is
 *
 *     0.4 ln(1 + shift / normal shift) + 0.8 ln(1 + peak / normal peak) + 1.6 ln(1 + jump / normal jump) + 0.8 ln(1 + range / normal range)
 *
 * two-sided, without a unit, and the same formula for all data. No normal value is taken as smaller than 0.5 % of the
 * median's magnitude (what a person would not call a change), no ratio as larger than 1000 (beyond, more is not more).
 * docs/decisions/0008-one-fusion.md has the measurements.
 */
#pragma once

#include "fleet/model/fleet-finding.h"
#include "lib/data/vec.h"
#include "lib/stat/columns.h"

#define USUAL_FLOOR	0.005
#define USUAL_RATIO_MAX 1000
#define USUAL_RUN_UP	3
#define USUAL_BLOCKS_MIN 4 /* fewer windows of the normal time: they are made shorter */

struct row_range {
	uint32_t first, n;
};

/* The rows of a server in `normal`, without the window and what is left out. */
struct fleet_baseline_rows {
	VEC(struct row_range) ranges;
	uint32_t n;	/* rows in all */
	uint32_t block; /* rows of a block */
	uint32_t blocks;
};
int fleet_baseline_rows(const struct fleet_server *s, const struct fleet_question *q, uint32_t window_rows, struct fleet_baseline_rows *ret);

/* A window against what is normal. */
struct fleet_baseline {
	double median, mean, least, most; /* of the normal time */
	double shift, peak, jump, range;  /* normal ones, floored */
	double level, strays; /* the middle of the windows' levels, and how far three quarters of them stray from it at most, floored */
	double climb, climb_strays; /* the same of how far a window's level climbs within it: a leak that begins lies nowhere yet */
	double low, high;     /* values count for levels between these: a single one that is far away makes none */
	uint32_t n;			  /* values */
	struct row_range incident; /* rows before and after the window that lie at its level: they are left out of the baseline; n = 0: none */
};
/* The median alone of what fleet_baseline_find() finds. 0, -ENODATA, -ENOMEM. */
int fleet_baseline_median(const float *v, const struct fleet_baseline_rows *rows, struct select_room *room, double *ret);
/* v: the server's column; window: the rows that are to be compared, where they are of the same column (NULL: they are not). Rows next to
 * them, before and after, that lie as far from the middle on the same side belong to the same incident and are left out, unless they are the half of
 * all. 0, -ENODATA (fewer than three values), -ENOMEM. */
int fleet_baseline_find(const float *v, const struct fleet_baseline_rows *rows, const struct row_range *window, struct select_room *room,
			struct fleet_baseline *ret);
/* The score of each of rows->blocks blocks, NaN where it has no values. */
void fleet_baseline_block_scores(const struct fleet_baseline *u, const float *v,
				 const struct fleet_baseline_rows *rows, float *scores);
/* The earlier and the later half of the blocks. 0 or -ENOMEM; the caller frees the ranges in either case. */
int fleet_baseline_rows_halve(const struct fleet_baseline_rows *rows, struct fleet_baseline_rows ret[2]);

/* Fills score, shift, peak, jump, range (as multiples of the normal), observed, normal, spread, flags and since of *ret.
 * v: the server's column, with rows [first, first + n) in the window. -ENODATA: no value in the window. */
int fleet_baseline_compare(const struct fleet_baseline *u, const struct fleet_server *s, const float *v, uint32_t first, uint32_t n,
		  struct fleet_finding *ret);
