#include "lib/stat/robust.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/order.h"

int robust_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return CMP(isnan(x), isnan(y)) ?: CMP(x, y);
}

#define DIGIT_BITS 11
#define DIGITS	   6   /* of a double's 64 bits */
#define WORTH	   512 /* for fewer values comparing is as quick as counting digits */

/* Ascends as the value does; NaN last. */
static uint64_t key_of(double value)
{
	uint64_t bits;

	if (isnan(value))
		return UINT64_MAX;
	value += 0.0; /* -0 is 0 */
	memcpy(&bits, &value, sizeof(bits));
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double value_of(uint64_t key)
{
	uint64_t bits = key >> 63 ? key & ~(1ull << 63) : ~key;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static unsigned digit_of(uint64_t key, unsigned i)
{
	return (unsigned)(key >> i * DIGIT_BITS) & ((1u << DIGIT_BITS) - 1);
}

/* By one digit after the other, the last first; one that all have in common is passed over. Returns where they are then. */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *room, size_t n)
{
	uint32_t count[DIGITS][1u << DIGIT_BITS] = {};

	for (size_t i = 0; i < n; i++)
		for (unsigned d = 0; d < DIGITS; d++)
			count[d][digit_of(keys[i], d)]++;
	for (unsigned d = 0; d < DIGITS; d++) {
		uint64_t *sorted = room;
		uint32_t before = 0;

		if (count[d][digit_of(keys[0], d)] == n)
			continue;
		for (size_t i = 0; i < 1u << DIGIT_BITS; i++) {
			uint32_t here = count[d][i];

			count[d][i] = before;
			before += here;
		}
		for (size_t i = 0; i < n; i++)
			sorted[count[d][digit_of(keys[i], d)]++] = keys[i];
		room = keys;
		keys = sorted;
	}
	return keys;
}

static bool is_sorted(const double *values, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (!(values[i - 1] <= values[i]))
			return false;
	return true;
}

static void sort_all(double *values, size_t n)
{
	uint64_t *keys = n >= WORTH && n <= UINT32_MAX ? malloc(2 * n * sizeof(*keys)) : NULL, *sorted;

	if (!keys) {
		qsort(values, n, sizeof(*values), robust_compare);
		return;
	}
	for (size_t i = 0; i < n; i++)
		keys[i] = key_of(values[i]);
	sorted = sort_keys(keys, keys + n, n);
	for (size_t i = 0; i < n; i++)
		values[i] = value_of(sorted[i]);
	free(keys);
}

size_t robust_sort(double *values, size_t n)
{
	if (n && !is_sorted(values, n)) /* nothing but zeros is normal */
		sort_all(values, n);
	while (n && isnan(values[n - 1]))
		n--;
	return n;
}

double robust_quantile(const double *sorted, size_t n, double q)
{
	double at = q * (double)(n ? n - 1 : 0);
	size_t below = (size_t)at;

	if (!n)
		return NAN;
	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double robust_scale(const double *sorted, size_t n)
{
	return (robust_quantile(sorted, n, 0.75) - robust_quantile(sorted, n, 0.25)) / 1.349;
}

int robust_compare_weighted(const void *a, const void *b)
{
	return CMP(((const struct weighted_value *)a)->value, ((const struct weighted_value *)b)->value);
}

double robust_quantile_weighted(const struct weighted_value *sorted, size_t n, double q)
{
	double total = 0, below = 0, last = 0;

	for (size_t i = 0; i < n; i++)
		total += sorted[i].weight;
	for (size_t i = 0; i < n; i++) {
		double middle = below + sorted[i].weight / 2, want = q * total;

		if (middle >= want)
			return i == 0 ? sorted[0].value :
					sorted[i - 1].value + (sorted[i].value - sorted[i - 1].value) * (want - last) / (middle - last);
		below += sorted[i].weight;
		last = middle;
	}
	return n ? sorted[n - 1].value : NAN;
}
