/* Count, mean and variance that add up the same in any order.
 *
 * Durations (ns) and weights (2^-16) are integers and so are their sums: parts merged are the whole, bit for bit.
 */
#pragma once

#include <math.h>
#include <stdint.h>

#include "spans/model/span.h"

typedef unsigned __int128 wide;

struct moments {
	uint64_t samples;	/* as recorded */
	uint64_t count;		/* adjusted, in SPAN_WEIGHT_ONE */
	wide sum;		/* value x weight */
	wide square_low;	/* value^2 x weight, 192 bits */
	uint64_t square_high;
	wide weight_square;	/* weight^2, in SPAN_WEIGHT_ONE^2 */
};

static inline void moments_add(struct moments *m, uint64_t value, uint64_t weight)
{
	wide square = (wide)value * value;
	wide low = (wide)(uint64_t)square * weight, high = (wide)(uint64_t)(square >> 64) * weight;
	wide sum = m->square_low + low;
	uint64_t carry = sum < low;

	m->square_low = sum + (high << 64);
	carry += m->square_low < sum;
	m->square_high += (uint64_t)(high >> 64) + carry;
	m->samples++;
	m->count += weight;
	m->sum += (wide)value * weight;
	m->weight_square += (wide)weight * weight;
}

static inline void moments_merge(struct moments *m, const struct moments *part)
{
	m->samples += part->samples;
	m->count += part->count;
	m->sum += part->sum;
	m->square_low += part->square_low;
	m->square_high += part->square_high + (m->square_low < part->square_low);
	m->weight_square += part->weight_square;
}

/* How many requests or calls they stand for. */
static inline double moments_count(const struct moments *m)
{
	return (double)m->count / (double)SPAN_WEIGHT_ONE;
}

/* NaN of nothing. */
static inline double moments_mean(const struct moments *m)
{
	return m->count ? (double)((long double)m->sum / (long double)m->count) : NAN;
}

/* The variance of a population: the mean of squares less the square of the mean. NaN of nothing. */
static inline double moments_variance(const struct moments *m)
{
	long double mean, squares;

	if (!m->count)
		return NAN;
	mean = (long double)m->sum / (long double)m->count;
	squares = ((long double)m->square_high * 0x1p128L + (long double)m->square_low) / (long double)m->count;
	return squares > mean * mean ? (double)(squares - mean * mean) : 0;
}

/* Kish's effective number of samples, (sum of weights)^2 / sum of squared weights: the n of every test. */
static inline double moments_effective(const struct moments *m)
{
	return m->weight_square ? (double)((long double)m->count * (long double)m->count / (long double)m->weight_square) : 0;
}
