#include "store/precision.h"

void scale_fill(struct scale *s)
{
	int64_t v = 0;

	for (s->n = 0; s->n < SCALE_MAX && v < INT64_MAX / 4; s->n++) {
		s->value[s->n] = v;
		v += v < SCALE_EXACT ? 1 : v / 200 * 3 + v % 200 * 3 / 200;
	}
}

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
