#include "lib/stat/welch.h"

#include <math.h>

#include "lib/stat/robust.h"

double welch_t(const struct sample_moments *a, const struct sample_moments *b, double *ret_df)
{
	double va, vb;

	if (!(a->n >= 2) || !(b->n >= 2))
		return NAN;
	va = a->variance / (a->n - 1); /* n / (n - 1) of the population's, over n */
	vb = b->variance / (b->n - 1);
	if (ret_df)
		*ret_df = va + vb > 0 ? (va + vb) * (va + vb) / (va * va / (a->n - 1) + vb * vb / (b->n - 1)) : a->n + b->n - 2;
	return (b->mean - a->mean) / sqrt(va + vb);
}

/* Continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), value;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	value = d;
	for (int m = 1; m <= 1000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		for (int half = 0; half < 2; half++) {
			double term = half ? odd : even;

			d = 1 + term * d;
			c = 1 + term / c;
			d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
			c = fabs(c) < 1e-300 ? 1e-300 : c;
			step = c * d;
			value *= step;
		}
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return value;
}

/* I_x(a, b), DLMF 8.17. */
static double beta_share(double x, double a, double b)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	if (x > (a + 1) / (a + b + 2))
		return 1 - beta_share(1 - x, b, a);
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return front * beta_fraction(x, a, b) / a;
}

double welch_student_p(double t, double df)
{
	if (isnan(t) || !(df > 0))
		return NAN;
	if (isinf(t))
		return 0;
	return df > 1e7 ? welch_normal_p(t) : beta_share(df / (df + t * t), df / 2, 0.5);
}

double welch_binomial_p(double k, double n, double share)
{
	return k <= 0 ? 1 : k > n ? 0 : beta_share(share, k, n - k + 1);
}

double welch_normal_p(double z)
{
	return isnan(z) ? NAN : erfc(fabs(z) / M_SQRT2);
}

double welch_mann_whitney_p(double superiority, double n_a, double n_b)
{
	if (isnan(superiority) || !(n_a > 0) || !(n_b > 0))
		return NAN;
	return welch_normal_p((superiority - 0.5) / sqrt((n_a + n_b + 1) / (12 * n_a * n_b)));
}

double welch_mad_z(double x, double *others, size_t n, double floor)
{
	double median, mad;

	n = robust_sort(others, n);
	if (!n)
		return NAN;
	median = robust_quantile(others, n, 0.5);
	for (size_t i = 0; i < n; i++)
		others[i] = fabs(others[i] - median);
	robust_sort(others, n);
	mad = fmax(1.4826 * robust_quantile(others, n, 0.5), floor);
	return mad > 0 ? (x - median) / mad : x == median ? 0 : copysign(INFINITY, x - median);
}
