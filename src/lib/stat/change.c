#include "lib/stat/change.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lib/stat/robust.h"
#include "lib/stat/welch.h"

#define LEAST_WINDOWS 4
#define MOST_WINDOWS  512 /* the search looks at n^2 / 2 segments */
#define PERMUTATIONS  499
#define ENOUGH	      10
#define LEAST_SEGMENT 2
#define CYCLE_LEAST   20 /* windows with something in them */
#define CYCLE_PART    6 /* in such a part of one, and in a smaller one, it is hardly more than a line */
#define HARMONICS     3 /* of a cycle, at most */
#define TERMS	      (2 * HARMONICS + 1)
#define ROUNDS	      8 /* in which level and cycle are fitted in turn */

/* Windows with something in them. */
struct points {
	size_t n;
	double *value, *weight; /* weight: 1 / variance of the window's mean */
	size_t *window;
};

struct segment {
	size_t from, to; /* the other level */
	double gain;	 /* weighted sum of squares that it explains */
};

/* The difference of neighbors, robustly: no one's change of level is in it more than twice. */
static double spread_of_neighbours(const struct points *p, double *room)
{
	for (size_t i = 0; i + 1 < p->n; i++)
		room[i] = fabs(p->value[i + 1] - p->value[i]);
	robust_sort(room, p->n - 1);
	return robust_quantile(room, p->n - 1, 0.5) / (0.6745 * M_SQRT2);
}

/* Two levels: [from, to) and the rest; to = n: one change. Of all segments, or of those that continue to the end. About the mean of all
 * both levels' shares of the squares are the same sum's, over the one's weight and over the other's. */
static struct segment best_segment(const struct points *p, bool lasting, double *weights, double *sums)
{
	struct segment best = {};
	double all, mean;

	weights[0] = sums[0] = 0;
	for (size_t i = 0; i < p->n; i++) {
		weights[i + 1] = weights[i] + p->weight[i];
		sums[i + 1] = sums[i] + p->weight[i] * p->value[i];
	}
	all = weights[p->n];
	mean = sums[p->n] / all;
	for (size_t i = 1; i <= p->n; i++)
		sums[i] -= mean * weights[i];
	for (size_t from = LEAST_SEGMENT; from + LEAST_SEGMENT <= p->n; from++)
		for (size_t to = lasting ? p->n : from + LEAST_SEGMENT; to <= p->n; to++) {
			double inside = weights[to] - weights[from], sum = sums[to] - sums[from];
			double gain = sum * sum * all / (inside * (all - inside));

			if (to < p->n && p->n - to < LEAST_SEGMENT)
				continue;
			if (gain > best.gain)
				best = (struct segment){from, to, gain};
		}
	return best;
}

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void shuffle(const struct points *p, uint64_t *state, struct points *ret)
{
	for (size_t i = 0; i < p->n; i++) {
		size_t j = next(state) % (i + 1);

		ret->value[i] = ret->value[j];
		ret->weight[i] = ret->weight[j];
		ret->value[j] = p->value[i];
		ret->weight[j] = p->weight[i];
	}
}

/* How many of the shuffled gains would be as great. Once ENOUGH are, that is known (Besag and Clifford 1991: p is ENOUGH of the shuffles
 * so far). Beyond all of them by the Gumbel distribution of their maxima (by its moments): shuffles cannot tell less than one in their
 * number. */
static double share_of_greater(const struct points *p, double gain, double *room, double *room2)
{
	double values[MOST_WINDOWS], weights[MOST_WINDOWS], sum = 0, squares = 0, mean, scale;
	struct points shuffled = {.n = p->n, .value = values, .weight = weights};
	size_t greater = 0;
	uint64_t state = 1;

	for (int i = 0; i < PERMUTATIONS; i++) {
		double one;

		shuffle(p, &state, &shuffled);
		one = best_segment(&shuffled, false, room, room2).gain;
		greater += one >= gain;
		if (greater == ENOUGH)
			return (double)greater / (i + 1);
		sum += one;
		squares += one * one;
	}
	mean = sum / PERMUTATIONS;
	scale = sqrt(fmax(squares / PERMUTATIONS - mean * mean, 0) * 6) / M_PI;
	if (greater || !(scale > 0))
		return (double)(greater + 1) / (PERMUTATIONS + 1);
	return fmin(1.0 / (PERMUTATIONS + 1), -expm1(-exp(-(gain - mean) / scale - 0.5772156649)));
}

/* How much more windows that are in the same way their neighbors wander than independent ones: (1 + rho) / (1 - rho) of what the
 * levels leave over. */
static double wandering(const struct points *p, const struct segment *s)
{
	double weight[2] = {}, sum[2] = {}, squares = 0, products = 0, last = 0, rho;

	for (size_t i = 0; i < p->n; i++) {
		bool inside = i >= s->from && i < s->to;

		weight[inside] += p->weight[i];
		sum[inside] += p->weight[i] * p->value[i];
	}
	for (size_t i = 0; i < p->n; i++) {
		bool inside = i >= s->from && i < s->to;
		double rest = weight[inside] > 0 ? p->value[i] - sum[inside] / weight[inside] : 0;

		squares += rest * rest;
		products += rest * last;
		last = rest;
	}
	rho = squares > 0 ? fmin(fmax(products / squares, 0), 0.95) : 0;
	return (1 + rho) / (1 - rho);
}

static void weigh(const struct window *windows, struct points *p, double *room)
{
	double spread = spread_of_neighbours(p, room);

	for (size_t i = 0; i < p->n; i++) {
		const struct window *w = &windows[p->window[i]];
		double sampling = w->variance / w->count;

		/* neighbors differ by sampling too; the greater of the two is what a window varies by */
		p->weight[i] = 1 / fmax(fmax(spread * spread, sampling), 1e-12 * w->mean * w->mean + 1e-300);
	}
}

/* --- a cycle ------------------------------------------------------------------------------------------------------------ */

/* Gauss-Jordan with pivots, over m x m normal equations a and their right side; what is not determined is 0. */
static void solve(double a[TERMS][TERMS + 1], size_t m, double *ret)
{
	for (size_t k = 0; k < m; k++) {
		size_t pivot = k;

		for (size_t i = k + 1; i < m; i++)
			pivot = fabs(a[i][k]) > fabs(a[pivot][k]) ? i : pivot;
		for (size_t j = 0; j <= m; j++) {
			double swapped = a[k][j];

			a[k][j] = a[pivot][j];
			a[pivot][j] = swapped;
		}
		if (!(fabs(a[k][k]) > 1e-9))
			continue;
		for (size_t i = 0; i < m; i++) {
			double factor = i == k ? 0 : a[i][k] / a[k][k];

			for (size_t j = k; j <= m && factor != 0; j++)
				a[i][j] -= factor * a[k][j];
		}
	}
	for (size_t k = 0; k < m; k++)
		ret[k] = fabs(a[k][k]) > 1e-9 ? a[k][m] / a[k][k] : 0;
}

/* 1, cos, sin, cos of twice the angle ... at a window */
static void terms_at(size_t window, double period, size_t m, double *ret)
{
	double angle = 2 * M_PI * (double)window / period;

	ret[0] = 1;
	for (size_t k = 1; k < m; k++)
		ret[k] = k % 2 ? cos((double)(k / 2 + 1) * angle) : sin((double)(k / 2) * angle);
}

/* One for each ten windows, and one alone where less than half a cycle is there: a rise or fall, with its bend. */
static size_t harmonics_of(const struct points *p, double period)
{
	if ((double)(p->window[p->n - 1] - p->window[0] + 1) < period / 2)
		return 1;
	return p->n / 10 < HARMONICS ? p->n / 10 : HARMONICS;
}

/* The cycle of `period` windows that explains `value` best, without its mean, by weighted least squares. */
static void fit_cycle(const struct points *p, const double *value, double period, double *ret)
{
	size_t m = 2 * harmonics_of(p, period) + 1;
	double a[TERMS][TERMS + 1] = {}, found[TERMS], terms[TERMS], all = 0;

	for (size_t i = 0; i < p->n; i++)
		all += p->weight[i];
	for (size_t i = 0; i < p->n; i++) {
		double weight = p->weight[i] / all;

		terms_at(p->window[i], period, m, terms);
		for (size_t j = 0; j < m; j++) {
			for (size_t k = 0; k < m; k++)
				a[j][k] += weight * terms[j] * terms[k];
			a[j][m] += weight * terms[j] * value[i];
		}
	}
	solve(a, m, found);
	for (size_t i = 0; i < p->n; i++) {
		terms_at(p->window[i], period, m, terms);
		ret[i] = 0;
		for (size_t k = 1; k < m; k++)
			ret[i] += found[k] * terms[k];
	}
}

/* How much higher the segment lies than the rest. */
static double step_of(const struct points *p, const struct segment *s)
{
	double weight[2] = {}, sum[2] = {};

	for (size_t i = 0; i < p->n; i++) {
		bool inside = i >= s->from && i < s->to;

		weight[inside] += p->weight[i];
		sum[inside] += p->weight[i] * p->value[i];
	}
	return weight[0] > 0 && weight[1] > 0 ? sum[1] / weight[1] - sum[0] / weight[0] : 0;
}

/* Weighted squares about the mean. */
static double squares_of(const struct points *p)
{
	double weight = 0, sum = 0, squares = 0, mean;

	for (size_t i = 0; i < p->n; i++) {
		weight += p->weight[i];
		sum += p->weight[i] * p->value[i];
	}
	mean = sum / weight;
	for (size_t i = 0; i < p->n; i++)
		squares += p->weight[i] * (p->value[i] - mean) * (p->value[i] - mean);
	return squares;
}

/* Level and cycle fitted in turn, beginning with the values of `p`, where the cycle has been taken away or not yet. `p` is then
 * without the cycle. Returns the weighted squares that neither explains. */
static double fit_both(struct points *p, const double *value, double period, double *weights, double *sums, struct segment *ret)
{
	double rest[MOST_WINDOWS], cycle[MOST_WINDOWS];

	for (int round = 0; round < ROUNDS; round++) {
		double step;

		*ret = best_segment(p, false, weights, sums);
		step = step_of(p, ret);
		for (size_t i = 0; i < p->n; i++)
			rest[i] = value[i] - (i >= ret->from && i < ret->to ? step : 0);
		fit_cycle(p, rest, period, cycle);
		for (size_t i = 0; i < p->n; i++)
			p->value[i] = value[i] - cycle[i];
	}
	*ret = best_segment(p, false, weights, sums);
	return squares_of(p) - ret->gain;
}

/* The change of level next to a cycle: its gain is what it explains beyond the cycle alone. `p` becomes the values without the cycle,
 * `alone` what the cycle alone leaves over: without a change that is noise. */
static struct segment best_beside_cycle(struct points *p, double period, double *alone, double *weights, double *sums)
{
	double value[MOST_WINDOWS], other[MOST_WINDOWS];
	struct points without = {.n = p->n, .value = other, .weight = p->weight, .window = p->window};
	struct segment level_first, cycle_first;
	double left, left_other, left_alone;

	memcpy(value, p->value, p->n * sizeof(*value));
	fit_cycle(p, value, period, alone);
	for (size_t i = 0; i < p->n; i++)
		alone[i] = other[i] = value[i] - alone[i];
	left_alone = squares_of(&without);
	left = fit_both(p, value, period, weights, sums, &level_first);
	left_other = fit_both(&without, value, period, weights, sums, &cycle_first);
	if (left_other < left) {
		memcpy(p->value, other, p->n * sizeof(*other));
		left = left_other;
		level_first = cycle_first;
	}
	level_first.gain = fmax(left_alone - left, 0);
	return level_first;
}

/* One change and what was before, or two and a level that came back: [2, 30) lower and [30, n) higher differ in two windows only, and
 * chance decides which of them explains more. The second change is to be worth what it costs (two parameters by Schwarz's criterion,
 * where neighbors are in the same way as much more). */
static struct segment without_needless_end(const struct points *p, struct segment best, double wander, double *room, double *room2)
{
	struct segment any = best_segment(p, false, room, room2), lasting = best_segment(p, true, room, room2);
	double worse = any.gain - lasting.gain;

	if (best.to == p->n || worse > 2 * log((double)p->n) * wander)
		return best;
	lasting.gain = fmax(best.gain - worse, 0);
	return lasting;
}

/* The weighted squares about the mean that a line explains. */
static double gain_of_line(const struct points *p)
{
	double weight = 0, at = 0, value = 0, xy = 0, xx = 0;

	for (size_t i = 0; i < p->n; i++) {
		weight += p->weight[i];
		at += p->weight[i] * (double)p->window[i];
		value += p->weight[i] * p->value[i];
	}
	for (size_t i = 0; i < p->n; i++) {
		double x = (double)p->window[i] - at / weight;

		xy += p->weight[i] * x * (p->value[i] - value / weight);
		xx += p->weight[i] * x * x;
	}
	return xx > 0 ? xy * xy / xx : 0;
}

static double mean_of(const struct window *windows, size_t from, size_t to, size_t skip_from, size_t skip_to)
{
	double count = 0, sum = 0;

	for (size_t i = from; i < to; i++) {
		if ((i >= skip_from && i < skip_to) || !(windows[i].count > 0))
			continue;
		count += windows[i].count;
		sum += windows[i].count * windows[i].mean;
	}
	return count > 0 ? sum / count : NAN;
}

bool change_find(const struct window *windows, size_t n, double period, double level,
		 struct change_point *ret)
{
	size_t window[MOST_WINDOWS];
	double value[MOST_WINDOWS], weight[MOST_WINDOWS], alone[MOST_WINDOWS], room[MOST_WINDOWS + 1], room2[MOST_WINDOWS + 1];
	struct points p = {.value = value, .weight = weight, .window = window};
	struct segment best;
	double wander;
	bool cycle = period > 0 && (double)n > period / CYCLE_PART;

	*ret = (struct change_point){.z = NAN, .p = 1, .before = NAN, .during = NAN};
	for (size_t i = n > MOST_WINDOWS ? n - MOST_WINDOWS : 0; i < n; i++)
		if (windows[i].count > 0) {
			value[p.n] = windows[i].mean;
			window[p.n++] = i;
		}
	if (p.n < LEAST_WINDOWS)
		return false;
	cycle &= p.n >= CYCLE_LEAST;
	weigh(windows, &p, room);
	if (cycle) {
		best = best_beside_cycle(&p, period, alone, room, room2);
	} else {
		best = best_segment(&p, false, room, room2);
		memcpy(alone, value, p.n * sizeof(*alone));
	}
	/* a slow rise has no moment */
	if (!(best.gain > 0) || (!cycle && period > 0 && gain_of_line(&p) >= best.gain))
		return false;
	wander = wandering(&p, &best);
	best = without_needless_end(&p, best, wander, room, room2);
	ret->at = window[best.from];
	ret->until = best.to < p.n ? window[best.to] : n;
	ret->before = mean_of(windows, 0, n, ret->at, ret->until);
	ret->during = cycle ? ret->before + step_of(&p, &best) : mean_of(windows, ret->at, ret->until, n, n);
	best.gain /= wander;
	ret->z = copysign(sqrt(best.gain), ret->during - ret->before);
	p.value = alone;
	ret->p = share_of_greater(&p, best.gain, room, room2);
	return ret->p <= level;
}

/* --- next to a cycle or a line --- */

/* Takes away from `x` the part that level and cycle, or level and line, explain. */
static void take_base_away(const struct points *p, double period, bool cycle, double *x)
{
	size_t m = cycle ? 3 : 2;
	double a[TERMS][TERMS + 1] = {}, found[TERMS], terms[TERMS], all = 0;

	for (size_t i = 0; i < p->n; i++) {
		terms_at(p->window[i], period, 3, terms);
		terms[1] = cycle ? terms[1] : (double)i / (double)p->n;
		for (size_t j = 0; j < m; j++) {
			for (size_t k = 0; k < m; k++)
				a[j][k] += p->weight[i] * terms[j] * terms[k];
			a[j][m] += p->weight[i] * terms[j] * x[i];
		}
	}
	for (size_t i = 0; i < p->n; i++)
		all += p->weight[i];
	for (size_t j = 0; j < m; j++) /* solve() takes small numbers for nothing */
		for (size_t k = 0; k <= m; k++)
			a[j][k] /= all;
	solve(a, m, found);
	for (size_t i = 0; i < p->n; i++) {
		terms_at(p->window[i], period, 3, terms);
		terms[1] = cycle ? terms[1] : (double)i / (double)p->n;
		for (size_t j = 0; j < m; j++)
			x[i] -= found[j] * terms[j];
	}
}

/* The weighted squares of `y` that `x` explains, both without what the base does; *ret_slope: of y by x. */
static double explained(const struct points *p, const double *y, const double *x, double *ret_slope)
{
	double xy = 0, xx = 0;

	for (size_t i = 0; i < p->n; i++) {
		xy += p->weight[i] * x[i] * y[i];
		xx += p->weight[i] * x[i] * x[i];
	}
	*ret_slope = xx > 0 ? xy / xx : 0;
	return xx > 0 ? xy * xy / xx : 0;
}

/* As in wandering(), of what `x` leaves over. */
static double wandering_beside(const struct points *p, const double *y, const double *x, double slope)
{
	double squares = 0, products = 0, last = 0, rho;

	for (size_t i = 0; i < p->n; i++) {
		double rest = y[i] - slope * x[i];

		squares += rest * rest;
		products += rest * last;
		last = rest;
	}
	rho = squares > 0 ? fmin(fmax(products / squares, 0), 0.95) : 0;
	return (1 + rho) / (1 - rho);
}

/* The best of all changes of level at a moment, and of those that come back. */
static double best_other(const struct points *p, double period, bool cycle, const double *y)
{
	double x[MOST_WINDOWS], slope, best = 0;

	for (size_t from = LEAST_SEGMENT; from + LEAST_SEGMENT <= p->n; from++)
		for (size_t to = from + LEAST_SEGMENT; to <= p->n; to++) {
			if (to < p->n && p->n - to < LEAST_SEGMENT)
				continue;
			for (size_t i = 0; i < p->n; i++)
				x[i] = i >= from && i < to;
			take_base_away(p, period, cycle, x);
			best = fmax(best, explained(p, y, x, &slope));
		}
	return best;
}

bool change_follows(const struct window *windows, const double *share, size_t n, double period, double level)
{
	size_t window[MOST_WINDOWS];
	double value[MOST_WINDOWS], weight[MOST_WINDOWS], x[MOST_WINDOWS], room[MOST_WINDOWS + 1], slope, gain, wander;
	struct points p = {.value = value, .weight = weight, .window = window};
	bool cycle;

	for (size_t i = n > MOST_WINDOWS ? n - MOST_WINDOWS : 0; i < n; i++)
		if (windows[i].count > 0) {
			value[p.n] = windows[i].mean;
			x[p.n] = share[i];
			window[p.n++] = i;
		}
	if (p.n < LEAST_WINDOWS)
		return true; /* nothing tells otherwise */
	cycle = period > 0 && (double)n >= period / 2 && p.n >= CYCLE_LEAST;
	weigh(windows, &p, room);
	take_base_away(&p, period, cycle, value);
	take_base_away(&p, period, cycle, x);
	gain = explained(&p, value, x, &slope);
	wander = wandering_beside(&p, value, x, slope);
	if (slope <= 0 || welch_normal_p(sqrt(gain / wander)) > level)
		return false;
	return best_other(&p, period, cycle, value) - gain <= 2 * log((double)p.n) * wander;
}
