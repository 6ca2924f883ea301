#include "machine/chunk/precision.h"

static unsigned part_of(int64_t value)
{
	unsigned octave = 63 - (unsigned)__builtin_clzll((uint64_t)value);

	return octave << SCALE_PARTS | ((unsigned)(value >> (octave - SCALE_PARTS)) & ((1u << SCALE_PARTS) - 1));
}

unsigned scale_code(const struct scale *s, int64_t value)
{
	unsigned low;

	if (value < SCALE_EXACT)
		return value < 0 ? 0 : (unsigned)value;
	low = s->near[part_of(value)];
	while (low + 1 < s->n && s->value[low + 1] <= value)
		low++;
	return low + 1 < s->n && s->value[low + 1] - value < value - s->value[low] ? low + 1 : low;
}

/* By integers alone: every machine must come to the same. A code and what it is multiplied by a large number lie as far
 * apart wherever the scale is logarithmic. */
static void fill_levels(struct scale *s)
{
	const int64_t large = 1ll << 24;
	int32_t apart = (int32_t)scale_code(s, SCALE_EXACT * large) - SCALE_EXACT, code = SCALE_EXACT - 1;

	for (int32_t i = 1; i < SCALE_EXACT; i++)
		s->level[i] = (int32_t)scale_code(s, i * large) - apart;
	s->level[0] = s->level[1];
	for (int32_t under = 0; under < SCALE_BELOW; under++) {
		int32_t level = SCALE_EXACT - under;

		while (code > 1 && level - s->level[code - 1] < s->level[code] - level)
			code--;
		s->below[under] = (uint8_t)code;
	}
}

static void fill_near(struct scale *s)
{
	unsigned code = 0;

	for (unsigned octave = SCALE_PARTS; octave < 63; octave++)
		for (unsigned part = 0; part < 1u << SCALE_PARTS; part++) {
			int64_t begin = (int64_t)((1ull << SCALE_PARTS | part) << (octave - SCALE_PARTS));

			while (code + 1 < s->n && s->value[code + 1] <= begin)
				code++;
			s->near[octave << SCALE_PARTS | part] = (uint16_t)code;
		}
}

void scale_fill(struct scale *s)
{
	int64_t v = 0;

	for (s->n = 0; s->n < SCALE_MAX && v < INT64_MAX / 4; s->n++) {
		s->value[s->n] = v;
		v += v < SCALE_EXACT ? 1 : v / 200 * 3 + v % 200 * 3 / 200;
	}
	fill_near(s);
	fill_levels(s);
}
