#include "lib/stat/quantiles.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/order.h"
#include "lib/data/vec.h"

#define FEW 40 /* sorted sooner by inserting than two tables of 256 are gone through */

const double quantile_rank[QUANTILES] = {0, 0.25, 0.5, 0.75, 0.99, 1};

/* Positive floats ascend as their bits do; negative ones the other way round. */
uint16_t quantiles_code(double value)
{
	float f = (float)value;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	bits = (bits & 0x7fffffff) + 0x10000;
	bits = (bits > 0x7f000000 ? 0x7f000000 : bits) >> 17;
	return (uint16_t)(value < 0 ? VALUE_ZERO - bits : VALUE_ZERO + bits);
}

double quantiles_value(uint16_t code)
{
	uint32_t bits = (uint32_t)(code >= VALUE_ZERO ? code - VALUE_ZERO : VALUE_ZERO - code) << 17;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return code >= VALUE_ZERO ? f : -f;
}

static void sort_by_byte(const struct weighted *from, struct weighted *to, size_t n, unsigned shift)
{
	uint32_t place[257] = {};

	for (size_t i = 0; i < n; i++)
		place[(from[i].code >> shift & 255) + 1]++;
	for (size_t i = 0; i < 256; i++)
		place[i + 1] += place[i];
	for (size_t i = 0; i < n; i++)
		to[place[from[i].code >> shift & 255]++] = from[i];
}

static void insert_each(struct weighted *values, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct weighted value = values[i];
		size_t at = i;

		for (; at && values[at - 1].code > value.code; at--)
			values[at] = values[at - 1];
		values[at] = value;
	}
}

static void sort(struct weighted *values, struct weighted *room, size_t n)
{
	if (n <= FEW) {
		insert_each(values, n);
		return;
	}
	sort_by_byte(values, room, n, 0);
	sort_by_byte(room, values, n, 8);
}

void quantiles_of(struct weighted *values, struct weighted *room, size_t n, double q[QUANTILES])
{
	double total = 0, below = 0;
	size_t next = 0;

	sort(values, room, n);
	for (size_t i = 0; i < n; i++)
		total += values[i].weight;
	for (size_t i = 0; i < n && next < QUANTILES; i++) {
		if (!values[i].weight)
			continue;
		below += values[i].weight;
		while (next < QUANTILES && below >= quantile_rank[next] * total)
			q[next++] = quantiles_value(values[i].code);
	}
}

double distribution_cdf(const struct distribution *d, double x, int before)
{
	size_t i = 0;

	/* the first quantile beyond x */
	while (i < QUANTILES && (before ? d->q[i] < x : d->q[i] <= x))
		i++;
	if (i == 0)
		return 0;
	if (i == QUANTILES)
		return 1;
	if (d->q[i] == d->q[i - 1] || x <= d->q[i - 1])
		return quantile_rank[i - 1];
	return quantile_rank[i - 1] +
	       (quantile_rank[i] - quantile_rank[i - 1]) * (x - d->q[i - 1]) / (d->q[i] - d->q[i - 1]);
}

/* How far the true share at or below x may be from distribution_cdf(). */
static double slack(const struct distribution *d, double x)
{
	if (x <= d->q[0] || x >= d->q[QUANTILES - 1])
		return d->error;
	for (size_t i = 1; i < QUANTILES; i++)
		if (x < d->q[i])
			return quantile_rank[i] - quantile_rank[i - 1] + d->error;
	return d->error;
}

struct mixture {
	const struct distribution *parts;
	size_t n;
	double weight;
	double *knots; /* sorted */
	size_t n_knots;
};

static double mixture_cdf(const struct mixture *m, double x, int before)
{
	double sum = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].n > 0)
			sum += m->parts[i].n * distribution_cdf(&m->parts[i], x, before);
	return sum / m->weight;
}

static double mixture_slack(const struct mixture *m, double x)
{
	double sum = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].n > 0)
			sum += m->parts[i].n * slack(&m->parts[i], x);
	return sum / m->weight;
}

ORDER(compare, double, CMP(*a, *b))

static int find_knots(struct mixture *m)
{
	m->knots = calloc(m->n * QUANTILES, sizeof(*m->knots));
	if (!m->knots)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++) {
		if (!(m->parts[i].n > 0))
			continue;
		memcpy(m->knots + m->n_knots, m->parts[i].q, sizeof(m->parts[i].q));
		m->n_knots += QUANTILES;
		m->weight += m->parts[i].n;
	}
	qsort(m->knots, m->n_knots, sizeof(*m->knots), compare);
	return 0;
}

/* The CDF is linear between knots: find the knot that reaches the rank, and go back from it. */
static double mixture_quantile(const struct mixture *m, double rank)
{
	size_t low = FIRST_WHERE(i, m->n_knots - 1, mixture_cdf(m, m->knots[i], 0) >= rank - 1e-12);
	double at, reached, before;

	if (low == 0)
		return m->knots[0];
	at = m->knots[low];
	reached = mixture_cdf(m, at, 1);
	before = mixture_cdf(m, m->knots[low - 1], 0);
	if (rank >= reached || reached <= before)
		return at;
	return m->knots[low - 1] + (at - m->knots[low - 1]) * (rank - before) / (reached - before);
}

static void merge_moments(const struct mixture *m, struct distribution *ret)
{
	ret->n = m->weight;
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].n > 0)
			ret->mean += m->parts[i].n / m->weight * m->parts[i].mean;
	for (size_t i = 0; i < m->n; i++) {
		double apart = m->parts[i].mean - ret->mean;

		if (m->parts[i].n > 0)
			ret->variance += m->parts[i].n / m->weight * (m->parts[i].variance + apart * apart);
	}
}

int distribution_merge(const struct distribution *parts, size_t n, struct distribution *ret)
{
	struct mixture m = {.parts = parts, .n = n};
	struct distribution merged = {};
	int r = find_knots(&m);

	if (r < 0)
		return r;
	merge_moments(&m, &merged);
	for (size_t i = 0; i < QUANTILES; i++) {
		merged.q[i] = i == 0		   ? m.knots[0]
			      : i == QUANTILES - 1 ? m.knots[m.n_knots - 1]
						   : mixture_quantile(&m, quantile_rank[i]);
		if (i > 0 && i < QUANTILES - 1)
			merged.error = fmax(merged.error, mixture_slack(&m, merged.q[i]));
	}
	free(m.knots);
	*ret = merged;
	return 0;
}
