#include "lib/stat/permutation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/stat/robust.h"

static int count_bits(unsigned v)
{
	return __builtin_popcount(v);
}

/* All assignments as bit masks: bit i set = value i is of group a. Equal means of differently added sums
 * differ in the last bits: a hair of tolerance lets them count as equal. */
double permutation_p(const double *a, size_t n_a, const double *b, size_t n_b)
{
	size_t n = n_a + n_b, all = 0, as_far = 0;
	double values[PERMUTATION_MAX], total = 0, observed = 0, hair = 0;

	if (!n_a || !n_b || n > PERMUTATION_MAX)
		return NAN;
	for (size_t i = 0; i < n; i++) {
		values[i] = i < n_a ? a[i] : b[i - n_a];
		total += values[i];
		observed += i < n_a ? values[i] : 0;
		hair += fabs(values[i]);
	}
	hair *= 1e-12;
	/* with the total given, the difference of means grows with the sum of group a */
	for (unsigned mask = 0; mask < 1u << n; mask++) {
		double sum = 0;

		if (count_bits(mask) != (int)n_a)
			continue;
		for (size_t i = 0; i < n; i++)
			sum += mask >> i & 1 ? values[i] : 0;
		all++;
		as_far += sum >= observed - hair;
	}
	return isfinite(total) ? (double)as_far / (double)all : NAN;
}

/* How many of the assignments give each U (pairs in which a is greater), over their number: the exact null
 * distribution without ties. ret: n_a * n_b + 1 shares. */
static void null_distribution(size_t n_a, size_t n_b, double *ret)
{
	size_t n = n_a + n_b, all = 0;

	for (size_t u = 0; u <= n_a * n_b; u++)
		ret[u] = 0;
	for (unsigned mask = 0; mask < 1u << n; mask++) {
		size_t below = 0, u = 0;

		if (count_bits(mask) != (int)n_a)
			continue;
		for (size_t i = 0; i < n; i++) {
			if (mask >> i & 1)
				u += below;
			else
				below++;
		}
		ret[u]++;
		all++;
	}
	for (size_t u = 0; u <= n_a * n_b; u++)
		ret[u] /= (double)all;
}

/* How many differences are cut off at each end, and what is then covered: P(k <= U <= pairs - k), k = cut + 1
 * ... */
static size_t find_cut(const double *null, size_t pairs, double coverage, double *ret_covered)
{
	double tail = null[0];
	size_t cut = 0;

	*ret_covered = 1 - 2 * tail;
	while (2 * (cut + 1) < pairs) {
		tail += null[cut + 1];
		if (1 - 2 * tail < coverage)
			break;
		cut++;
		*ret_covered = 1 - 2 * tail;
	}
	return cut;
}

int shift_find(const double *a, size_t n_a, const double *b, size_t n_b, double coverage, struct shift *ret)
{
	size_t pairs = n_a * n_b, cut;
	_cleanup_free_ double *differences = NULL, *null = NULL;

	if (!pairs || n_a + n_b > PERMUTATION_MAX)
		return -EDOM;
	differences = calloc(pairs, sizeof(*differences));
	null = calloc(pairs + 1, sizeof(*null));
	if (!differences || !null)
		return -ENOMEM;
	for (size_t i = 0; i < pairs; i++)
		differences[i] = a[i / n_b] - b[i % n_b];
	if (robust_sort(differences, pairs) < pairs)
		return -EDOM;
	null_distribution(n_a, n_b, null);
	cut = find_cut(null, pairs, coverage, &ret->coverage);
	ret->estimate = robust_quantile(differences, pairs, 0.5);
	ret->low = differences[cut];
	ret->high = differences[pairs - 1 - cut];
	return 0;
}

void permutation_choose(size_t n, size_t k, unsigned long long (*random)(void *data), void *data,
		   unsigned char *ret)
{
	/* selection sampling (Knuth, algorithm S): each is taken with the share of what is still to be taken
	 */
	for (size_t i = 0, taken = 0; i < n; i++) {
		ret[i] = random(data) % (n - i) < k - taken;
		taken += ret[i];
	}
}
