/* What is expected of each leaf, from earlier slices of time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/stat/robust.h"
#include "spans/attribute/attributes.h"

#define RAISED	 1.25 /* a slice this much above the median slice is not a reference */
#define LEAN	 50.0 /* denominators with which a leaf leans on the whole */
#define WHIM	 3.0  /* deviations */
#define BUSY	 10.0 /* events expected of a leaf whose noise is not all counting */

static double slice_rate(const double *numerator, const double *denominator, size_t n)
{
	double sum = 0, base = 0;

	for (size_t i = 0; i < n; i++) {
		if (isnan(numerator[i]))
			continue;
		sum += numerator[i];
		base += denominator ? denominator[i] : 1;
	}
	return base > 0 ? sum / base : NAN;
}

/* Marks the slices that serve as reference; returns how many. */
static size_t choose_slices(const double *numerator, const double *denominator, size_t slices, size_t n, bool *keep,
			    double *rates)
{
	double *sorted = rates + slices, median;
	size_t kept = 0;

	for (size_t k = 0; k < slices; k++)
		sorted[k] = rates[k] = slice_rate(numerator + k * n, denominator ? denominator + k * n : NULL, n);
	median = robust_quantile(sorted, robust_sort(sorted, slices), 0.5);
	for (size_t k = 0; k < slices; k++) {
		keep[k] = rates[k] <= RAISED * median;
		kept += keep[k];
	}
	return kept;
}

struct leaf_past {
	double numerator, denominator;
	size_t slices;
};

static void past_of(const double *numerator, const double *denominator, size_t slices, size_t n, const bool *keep,
		    size_t i, struct leaf_past *ret)
{
	*ret = (struct leaf_past){};
	for (size_t k = 0; k < slices; k++) {
		double x = numerator[k * n + i];

		if (!keep[k] || isnan(x))
			continue;
		ret->numerator += x;
		ret->denominator += denominator ? denominator[k * n + i] : 1;
		ret->slices++;
	}
}

struct residual {
	double r, expected;
	double counting; /* the spread that counting alone gives r */
};

/* Each leaf of each reference slice against its other slices. */
static void collect(const double *numerator, const double *denominator, size_t slices, size_t n, const bool *keep,
		   double whole, struct residual *ret, size_t *ret_n)
{
	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		struct leaf_past past;

		past_of(numerator, denominator, slices, n, keep, i, &past);
		for (size_t k = 0; k < slices && past.slices > 1; k++) {
			double x = numerator[k * n + i], base, expected;

			if (!keep[k] || isnan(x) || !(denominator[k * n + i] > 0))
				continue;
			base = denominator[k * n + i];
			expected = base * (past.numerator - x + LEAN * whole) / (past.denominator - base + LEAN);
			if (expected > 0)
				ret[(*ret_n)++] = (struct residual){attributes_relative_change(x, expected), expected, attributes_count_spread(x, expected)};
		}
	}
}

ORDER(busiest_first, struct residual, DESCENDING(expected))

/* Median of f over v, as the variance of a Gaussian. */
static double part_variance(const struct residual *v, size_t n, bool scaled, double *room)
{
	for (size_t i = 0; i < n; i++)
		room[i] = scaled ? v[i].r * v[i].r / (v[i].counting * v[i].counting) : v[i].r * v[i].r;
	return robust_quantile(room, robust_sort(room, n), 0.5) / 0.454936;
}

/* The busy leaves show what varies next to counting; the median leaf how much wilder than Poisson counts are. */
static void judge(struct residual *v, size_t n, double *room, struct leaf_quiet *ret)
{
	size_t busy = 0, whims = 0;
	double counted = 0;

	*ret = (struct leaf_quiet){.noise = 0, .counting = 1};
	if (n < 20)
		return;
	qsort(v, n, sizeof(*v), busiest_first);
	ret->counting = fmax(1, part_variance(v, n, true, room));
	while (busy < n && v[busy].expected >= BUSY)
		counted += 1 / v[busy++].expected;
	if (busy >= 10)
		ret->noise = sqrt(fmax(0, part_variance(v, busy, false, room) - counted / (double)busy));
	for (size_t i = 0; i < n; i++)
		whims += v[i].r > WHIM * sqrt(ret->counting * v[i].counting * v[i].counting + ret->noise * ret->noise);
	ret->whims = (double)whims / (double)n;
}

static int learn_quiet(const double *numerator, const double *denominator, size_t slices, size_t n, const bool *keep,
		       double whole, struct leaf_quiet *ret)
{
	_cleanup_free_ struct residual *residuals = calloc(slices * n + 1, sizeof(*residuals));
	_cleanup_free_ double *room = calloc(slices * n + 1, sizeof(*room));
	size_t found = 0;

	*ret = (struct leaf_quiet){.noise = NAN, .counting = NAN};
	if (!denominator)
		return 0;
	if (!residuals || !room)
		return -ENOMEM;
	collect(numerator, denominator, slices, n, keep, whole, residuals, &found);
	judge(residuals, found, room, ret);
	return 0;
}

int attributes_expect(const double *numerator, const double *denominator, size_t slices, size_t n, double *expected,
		      struct leaf_quiet *ret_quiet)
{
	_cleanup_free_ bool *keep = calloc(slices + 1, sizeof(*keep));
	_cleanup_free_ double *rates = calloc(2 * slices + 1, sizeof(*rates));
	const double *now = denominator ? denominator + (slices - 1) * n : NULL;
	double sum = 0, base = 0, whole;

	if (!keep || !rates)
		return -ENOMEM;
	if (slices < 2 || !choose_slices(numerator, denominator, slices - 1, n, keep, rates))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		struct leaf_past past;

		past_of(numerator, denominator, slices - 1, n, keep, i, &past);
		sum += past.numerator;
		base += past.denominator;
	}
	whole = base > 0 ? sum / base : 0;
	for (size_t i = 0; i < n; i++) {
		struct leaf_past past;
		double lean = denominator ? LEAN : 0;

		past_of(numerator, denominator, slices - 1, n, keep, i, &past);
		expected[i] = past.denominator + lean > 0 ?
				      (past.numerator + lean * whole) / (past.denominator + lean) : 0;
		if (denominator)
			expected[i] *= isnan(now[i]) ? 0 : now[i];
	}
	return learn_quiet(numerator, denominator, slices - 1, n, keep, whole, ret_quiet);
}
