/* Shared by the writer and the reader of chunks. */
#pragma once

#include <stdbool.h>

#include "machine/model/feature.h"

#define META_MAX	((size_t)64 << 20)
/* Version 0 began with the vocabulary. */
#define CHUNK_MARK	1000 /* more than a vocabulary has words: the version is added to it */
#define CHUNK_PARTNERS	1    /* the version from which on columns name partners */
#define CHUNK_POINTS	2    /* ... their values can be read from points on, a series in all ticks of its base has no length */
#define CHUNK_VERSION	CHUNK_POINTS
#define PARTNERS_MAX	3    /* one behind the other: who reads a column reads those */
#define BASE_ACTIVITY	0 /* base of a series: the entity's active ticks; 1 + f = those of its feature f */
#define EXACT_GAPS	16
#define EXACT_DISTANCES 16
#define POINT_EVERY	4096 /* values, or the first series behind as many, of columns that are read of a few only */
#define SPARSE_TOKENS \
	256 /* a column with fewer values has one model: tables would cost more than they save */

/* Models of gaps: by how dense the series is within its base, two each: the second is for after a gap. */
static inline unsigned chunk_gap_model(size_t n, size_t n_base, bool sparse)
{
	return sparse ? 0 : 2 * (unsigned)(n * 8 / (n_base + 1));
}
