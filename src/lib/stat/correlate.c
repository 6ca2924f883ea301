#include "lib/stat/correlate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/order.h"
#include "lib/stat/width.h"

#define LANES 16
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t counts __attribute__((vector_size(4 * LANES)));
typedef double doubles __attribute__((vector_size(8 * LANES)));

struct pair_sums {
	double n, x, y, xx, yy, xy;
};

/* Pairs of which one is missing are left out where there may be `gaps`. */
static inline __attribute__((always_inline)) void sum_pairs(const float *x, const float *y, size_t n, float x0, float y0, bool gaps,
							     struct pair_sums *s)
{
	doubles sx = {}, sy = {}, sxx = {}, syy = {}, sxy = {};
	lanes from_x = (lanes){} + x0, from_y = (lanes){} + y0;
	counts there = {};

	for (size_t i = 0; i + LANES <= n; i += LANES) {
		lanes p, q;
		doubles a, b;

		memcpy(&p, x + i, sizeof(p));
		memcpy(&q, y + i, sizeof(q));
		if (gaps) {
			counts ok = (p == p) & (q == q);

			p = (lanes)(((counts)p & ok) | ((counts)from_x & ~ok));
			q = (lanes)(((counts)q & ok) | ((counts)from_y & ~ok));
			there -= ok;
		}
		a = __builtin_convertvector(p, doubles) - (double)x0;
		b = __builtin_convertvector(q, doubles) - (double)y0;
		sx += a;
		sy += b;
		sxx += a * a;
		syy += b * b;
		sxy += a * b;
	}
	for (int i = 0; i < LANES; i++) {
		s->n += gaps ? (double)there[i] : 0;
		s->x += sx[i];
		s->y += sy[i];
		s->xx += sxx[i];
		s->yy += syy[i];
		s->xy += sxy[i];
	}
	s->n += gaps ? 0 : (double)(n / LANES * LANES);
}

EACH_WIDTH static void sum_whole(const float *x, const float *y, size_t n, float x0, float y0, struct pair_sums *s)
{
	sum_pairs(x, y, n, x0, y0, false, s);
}

EACH_WIDTH static void sum_there(const float *x, const float *y, size_t n, float x0, float y0, struct pair_sums *s)
{
	sum_pairs(x, y, n, x0, y0, true, s);
}

static void sum_rest(const float *x, const float *y, size_t n, float x0, float y0, struct pair_sums *s)
{
	for (size_t i = 0; i < n; i++) {
		double a = (double)x[i] - (double)x0, b = (double)y[i] - (double)y0;

		if (isnan(a) || isnan(b))
			continue;
		s->n++;
		s->x += a;
		s->y += b;
		s->xx += a * a;
		s->yy += b * b;
		s->xy += a * b;
	}
}

static float first_number(const float *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isnan(v[i]))
			return v[i];
	return 0;
}

#define ROUNDING 1e-10 /* of float32 squares against each other: less is not variance */

struct correlation correlate_pearson(const float *x, const float *y, size_t n)
{
	float x0 = first_number(x, n), y0 = first_number(y, n);
	size_t whole = n / LANES * LANES;
	struct pair_sums s = {};
	double vx, vy, r;

	sum_whole(x, y, whole, x0, y0, &s);
	if (isnan(s.xy)) { /* there are gaps, or infinities */
		s = (struct pair_sums){};
		sum_there(x, y, whole, x0, y0, &s);
	}
	sum_rest(x + whole, y + whole, n - whole, x0, y0, &s);
	if (s.n < 3)
		return (struct correlation){NAN, (uint32_t)s.n};
	vx = s.xx - s.x * s.x / s.n;
	vy = s.yy - s.y * s.y / s.n;
	if (!(vx > ROUNDING * s.xx) || !(vy > ROUNDING * s.yy))
		return (struct correlation){NAN, (uint32_t)s.n};
	r = (s.xy - s.x * s.y / s.n) / sqrt(vx * vy);
	return (struct correlation){r > 1 ? 1 : r < -1 ? -1 : r, (uint32_t)s.n};
}

ORDER_IN(compare_indirect, uint32_t, float, CMP(isnan(context[*a]), isnan(context[*b])) ?: CMP(context[*a], context[*b]))

void correlate_rank(float *v, size_t n, uint32_t *order)
{
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), compare_indirect, v);
	for (size_t i = 0; i < n && !isnan(v[order[i]]);) {
		size_t end = i + 1;
		float value = v[order[i]], rank;

		while (end < n && v[order[end]] == value)
			end++;
		rank = (float)((double)(i + end - 1) / 2);
		for (; i < end; i++)
			v[order[i]] = rank;
	}
}

struct lagged correlate_lagged(const float *x, const float *y, size_t n, uint32_t most)
{
	struct correlation at = correlate_pearson(x, y, n);
	struct lagged best = {at.r, 0, at.n};

	for (uint32_t k = 1; k <= most && k + 3 <= n; k++)
		for (int sign = -1; sign <= 1; sign += 2) {
			at = sign > 0 ? correlate_pearson(x + k, y, n - k)
				      : correlate_pearson(x, y + k, n - k);
			if (isnan(at.r) || (!isnan(best.r) && fabs(at.r) <= fabs(best.r) + (best.lag ? 0 : 0.01)))
				continue;
			best = (struct lagged){at.r, sign * (int)k, at.n};
		}
	return best;
}

double correlate_shift_p(const float *x, const float *y, size_t n, uint32_t most, uint32_t shifts, double r, float *room)
{
	size_t margin = most + 1 + n / 20, span = n > 2 * margin ? n - 2 * margin : 0;
	uint32_t as_well = 0;

	if (shifts > span)
		shifts = (uint32_t)span;
	if (shifts < 10 || isnan(r))
		return NAN;
	memcpy(room, x, n * sizeof(*x));
	memcpy(room + n, x, n * sizeof(*x));
	for (uint32_t i = 0; i < shifts; i++) {
		size_t shift = margin + (size_t)((double)i * (double)span / shifts);
		struct lagged l = correlate_lagged(room + shift, y, n, most);

		as_well += fabs(l.r) >= fabs(r) - 1e-9;
	}
	return (1.0 + as_well) / (1.0 + shifts);
}
