/* Time correlation: which rows of different servers belong together.
 *
 * As in the paper (section V): [ts, tf] from the latest start to the earliest end, N = floor((tf - ts) / d), and N' <= N
 * points that every server has, paired by index from each server's first row at or after ts. Or by time, where clocks
 * agree: a server's row belongs to the point it lies nearest to, within half an interval; the points are then ts + k * d,
 * both ends included (N + 1). A fleet of one moment has one point.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/model/fleet-finding.h"
#include "lib/data/vec.h"

enum fleet_align_by {
	FLEET_BY_INDEX,
	FLEET_BY_TIME,
	FLEET_LITERALLY /* by index, and every server counts for [ts, tf] and N', however late it joined: Equation 3 as it stands */
};

#define FLEET_NO_ROW UINT32_MAX

struct fleet_aligned_server {
	bool used;	/* false: it has no row at any point */
	uint32_t first; /* by index: its first row at or after ts */
	uint32_t *row;	/* by time: its row at each point, or FLEET_NO_ROW */
	uint32_t missing; /* points without a row */
	int64_t skew;	/* ns: how far its rows lie from the nearest points, on median */
	int64_t drift;	/* ns: by how much its clock ran slow or fast against the interval of its rows, from its first one to its last */
	bool gaps;	/* it left out rows */
	bool late, died; /* it began or ended more than 5 % of the window after or before most others did: it does not shorten
			  * [ts, tf], and has its rows by time, FLEET_NO_ROW where it was not there */
};

struct fleet_alignment {
	enum fleet_align_by by;
	int64_t ts, tf, d; /* wall ns */
	uint32_t n_most; /* N */
	uint32_t n;	 /* N' */
	VEC(struct fleet_aligned_server) servers; /* as the fleet's */
};

/* Late joiners and servers that died do not count for ts, tf and N' (they would leave nothing in common) unless they are the half of
 * all; they are used where they have rows. 0, -ENODATA (no point in common), -ENOMEM, -E2BIG (by time: a few rows lie so far
 * apart that the points between them would take more memory than the rows). */
int fleet_align(const struct fleet *f, struct fleet_span window, enum fleet_align_by by, struct fleet_alignment *ret);
/* By time; a server whose clock drifts by half an interval or more while it leaves out no row is paired by index from its first one
 * on. */
int fleet_align_best(const struct fleet *f, struct fleet_span window, struct fleet_alignment *ret);
/* A server's values at all points: part of the column where its rows follow each other, else gathered into `room` (a->n
 * places). NULL = it has no such counter or is not used. */
const float *fleet_aligned_values(const struct fleet_alignment *a, const struct fleet *f, size_t server, size_t counter,
				  float *room);
void fleet_alignment_free(struct fleet_alignment *a);

/* How many servers are used for a part of the points only. */
size_t fleet_aligned_partly(const struct fleet_alignment *a);
#define FLEET_PARTLY "servers that joined late or ended early count where they have rows ('fleet info' names them)"

static inline bool fleet_aligned(const struct fleet_alignment *a, size_t server)
{
	return a->servers.v[server].used;
}
/* Row of a server that is used at point k < n. */
static inline uint32_t fleet_aligned_row(const struct fleet_alignment *a, size_t server, uint32_t k)
{
	const struct fleet_aligned_server *s = &a->servers.v[server];

	return s->row ? s->row[k] : s->first + k;
}
