#include "store/precision.h"

unsigned scale_code(const struct scale *s, int64_t value)
{
	unsigned low = 0, high = s->n - 1;

	if (value < SCALE_EXACT)
		return value < 0 ? 0 : (unsigned)value;
	while (low < high) {
		unsigned middle = (low + high + 1) / 2;

		if (s->value[middle] <= value)
			low = middle;
		else
			high = middle - 1;
	}
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

void scale_fill(struct scale *s)
{
	int64_t v = 0;

	for (s->n = 0; s->n < SCALE_MAX && v < INT64_MAX / 4; s->n++) {
		s->value[s->n] = v;
		v += v < SCALE_EXACT ? 1 : v / 200 * 3 + v % 200 * 3 / 200;
	}
	fill_levels(s);
}
