#include "lib/stat/rank.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/order.h"
#include "lib/stat/robust.h"

double rank_mann_whitney(double *a, size_t n_a, double *b, size_t n_b, double *ret_superiority)
{
	double u = 0, ties = 0, n, mean, variance, z;
	size_t i = 0, j = 0;

	n_a = robust_sort(a, n_a);
	n_b = robust_sort(b, n_b);
	if (!n_a || !n_b)
		return NAN;
	/* u counts, for every b, the a below it and half of those equal to it */
	while (j < n_b) {
		size_t equal_a = 0, equal_b = 0, t;

		while (i < n_a && a[i] < b[j])
			i++;
		while (i + equal_a < n_a && a[i + equal_a] == b[j])
			equal_a++;
		while (j + equal_b < n_b && b[j + equal_b] == b[j])
			equal_b++;
		u += (double)equal_b * ((double)i + 0.5 * (double)equal_a);
		t = equal_a + equal_b;
		ties += (double)t * ((double)t * (double)t - 1);
		j += equal_b;
	}
	for (i = 0; i < n_a;) { /* ties among a alone */
		size_t t = 1;

		while (i + t < n_a && a[i + t] == a[i])
			t++;
		if (!bsearch(&a[i], b, n_b, sizeof(*b), robust_compare))
			ties += (double)t * ((double)t * (double)t - 1);
		i += t;
	}
	if (ret_superiority)
		*ret_superiority = u / ((double)n_a * (double)n_b);
	n = (double)(n_a + n_b);
	mean = (double)n_a * (double)n_b / 2;
	variance = (double)n_a * (double)n_b / 12 * (n + 1 - ties / (n * (n - 1)));
	if (!(variance > 0))
		return 1;
	z = fmax(0, fabs(u - mean) - 0.5) / sqrt(variance);
	return erfc(z / M_SQRT2);
}

struct ranked {
	double p;
	size_t at;
};

ORDER(by_p, struct ranked, ASCENDING(p))

int rank_benjamini_hochberg(double *p, size_t n)
{
	struct ranked *ranked = calloc(n ? n : 1, sizeof(*ranked));
	double least = 1;

	if (!ranked)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ranked[i] = (struct ranked){p[i], i};
	qsort(ranked, n, sizeof(*ranked), by_p);
	for (size_t i = n; i-- > 0;) {
		least = fmin(least, ranked[i].p * (double)n / (double)(i + 1));
		p[ranked[i].at] = least;
	}
	free(ranked);
	return 0;
}
