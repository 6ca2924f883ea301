/* Rows of summaries as bytes: like next to like (a plane each), then zstd. Written by summary.c, read by summary-read.c. */
#pragma once

#include <string.h>

#include "lib/data/vec.h"
#include "lib/stat/quantiles.h"
#include "machine/recording/internal.h"

#define PLANES	    16
#define BLOB_MAX    ((size_t)256 << 20)
#define ERROR_STEPS 1000 /* the error in rank is kept in thousandths */

struct summary_row {
	uint32_t entity, program, feature; /* ids of the store's tables; entity 0 in tiers */
	struct distribution d;
};

struct summary_rows {
	VEC(struct summary_row) list;
};

enum summary_plane {
	ENTITY,
	PROGRAM,
	FEATURE,
	TICKS,
	MEAN_HIGH,
	MEAN_MIDDLE,
	MEAN_LOW,
	SPREAD_HIGH,
	SPREAD_LOW,
	ERROR,
	QUANTILE_0
};

_Static_assert(QUANTILE_0 + QUANTILES <= PLANES, "a plane for each quantile");

/* The upper three bytes of a float: 1 in 65,000. */
static inline uint32_t summary_mean_code(double mean)
{
	float f = (float)mean;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits >> 8;
}

static inline double summary_mean_of_code(uint32_t code)
{
	uint32_t bits = code << 8;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* Appends what was packed, and takes memory for it from the budget, which is fed with the n bytes. 0, -EBADMSG, -ENOMEM. */
int summary_unpack(const void *bytes, size_t n, struct memory_budget *budget, struct summary_rows *rows);
