/* How exactly a chunk keeps a number.
 *
 * Growths of counters: a scale that is exact up to 133 quanta and then continues in steps of at most 1.5 %, so
 * that the nearest step is at most 0.75 % away. Levels of gauges: exact, as 16 codes an octave with the remaining bits behind them.
 */
#pragma once

#include <stdint.h>

#define SCALE_MAX   2800
#define SCALE_EXACT 134
#define SCALE_BELOW 512 /* more than the steps from 1 to SCALE_EXACT would be */
#define SCALE_PARTS 5	/* bits: in so many parts an octave is cut, each with a step of the scale or two */

struct scale {
	int64_t value[SCALE_MAX]; /* ascending from 0 */
	unsigned n;
	/* codes on a scale that is logarithmic from 1 on, so that a ratio is a difference; and back */
	int32_t level[SCALE_EXACT];
	uint8_t below[SCALE_BELOW];
	uint16_t near[64 << SCALE_PARTS]; /* of each part of an octave, the last code that is not beyond where it begins */
};

void scale_fill(struct scale *s);
/* The code whose value is nearest. value >= 0. */
unsigned scale_code(const struct scale *s, int64_t value);

/* The value of a code on the logarithmic scale, code >= 1: itself, where the scale of codes has become so. */
static inline int32_t scale_level(const struct scale *s, int32_t code)
{
	return code < SCALE_EXACT ? s->level[code] : code;
}

/* The code that is nearest to a level; from 1 on. */
static inline int32_t scale_at(const struct scale *s, int32_t level)
{
	int32_t under = SCALE_EXACT - level;

	if (under <= 0)
		return level < (int32_t)s->n ? level : (int32_t)s->n - 1;
	return under < SCALE_BELOW ? s->below[under] : 1;
}

static inline uint64_t precision_fold_sign(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t precision_unfold_sign(uint64_t u)
{
	return (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
}

/* Exact: code and how many raw bits go with it. */
static inline unsigned precision_exact_code(uint64_t u, unsigned *ret_bits)
{
	unsigned octave;

	*ret_bits = 0;
	if (u < 32)
		return (unsigned)u;
	octave = 63 - (unsigned)__builtin_clzll(u);
	*ret_bits = octave - 4;
	return 32 + (octave - 5) * 16 + (unsigned)(u >> (octave - 4) & 15);
}

static inline unsigned precision_exact_bits(unsigned code)
{
	return code < 32 ? 0 : (code - 32) / 16 + 1;
}

static inline uint64_t precision_exact_value(unsigned code, uint64_t raw)
{
	unsigned bits = precision_exact_bits(code);

	return bits ? (uint64_t)(16 | ((code - 32) & 15)) << bits | raw : code;
}
#define EXACT_CODES (32 + 59 * 16)
