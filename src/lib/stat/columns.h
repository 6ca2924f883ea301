/* Statistics over columns of float32, at the speed of memory. NaN is missing and left out; all give NaN for nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A column may lie in pieces: one counter of all servers. */
struct piece {
	const float *v;
	size_t n;
};

struct column_moments {
	uint64_t n;
	double mean, sd; /* sd of the values themselves (divided by n) */
	float min, max;
};

void column_moments_of(const struct piece *pieces, size_t n, struct column_moments *ret);

/* Memory that selection reuses; starts as {}. */
struct select_room {
	float *v;
	size_t allocated;
};
void select_room_free(struct select_room *room);

/* The median: the mean of the two middles when the count is even. NaN also without memory. */
double columns_median(const struct piece *pieces, size_t n, struct select_room *room);
/* Quantile q in 0..1, linear between neighbors (Hyndman-Fan type 7). */
double columns_quantile(const struct piece *pieces, size_t n, double q, struct select_room *room);
/* The k-th smallest of n > k numbers (no NaN); what v holds afterwards is undefined. */
float columns_select(float *v, size_t n, size_t k);
