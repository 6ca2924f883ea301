#include "stat/change.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "stat/robust.h"

#define LEAST_WINDOWS 4
#define MOST_WINDOWS  512 /* the search looks at n^2 / 2 segments */
#define PERMUTATIONS  499
#define LEAST_SEGMENT 2

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

/* What neighbours differ by, robustly: nobody's change of level is in it more than twice. */
static double spread_of_neighbours(const struct points *p, double *room)
{
	for (size_t i = 0; i + 1 < p->n; i++)
		room[i] = fabs(p->value[i + 1] - p->value[i]);
	sort_values(room, p->n - 1);
	return quantile_sorted(room, p->n - 1, 0.5) / (0.6745 * M_SQRT2);
}

/* Two levels: [from, to) and the rest; to = n: one change. */
static struct segment best_segment(const struct points *p, double *weights, double *sums)
{
	struct segment best = {};
	double all;

	weights[0] = sums[0] = 0;
	for (size_t i = 0; i < p->n; i++) {
		weights[i + 1] = weights[i] + p->weight[i];
		sums[i + 1] = sums[i] + p->weight[i] * p->value[i];
	}
	all = weights[p->n];
	for (size_t from = LEAST_SEGMENT; from + LEAST_SEGMENT <= p->n; from++)
		for (size_t to = from + LEAST_SEGMENT; to <= p->n; to++) {
			double inside = weights[to] - weights[from], sum = sums[to] - sums[from];
			double difference = sum / inside - (sums[p->n] - sum) / (all - inside);
			double gain = difference * difference * inside * (all - inside) / all;

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

static double share_of_greater(const struct points *p, double gain, double *room, double *room2)
{
	double values[MOST_WINDOWS], weights[MOST_WINDOWS];
	struct points shuffled = {.n = p->n, .value = values, .weight = weights};
	size_t greater = 0;
	uint64_t state = 1;

	for (int i = 0; i < PERMUTATIONS; i++) {
		shuffle(p, &state, &shuffled);
		greater += best_segment(&shuffled, room, room2).gain >= gain;
	}
	return (double)(greater + 1) / (PERMUTATIONS + 1);
}

/* How much more windows that are alike their neighbours wander than independent ones: (1 + rho) / (1 - rho) of what the
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

		/* neighbours differ by sampling too; the greater of the two is what a window varies by */
		p->weight[i] = 1 / fmax(fmax(spread * spread, sampling), 1e-12 * w->mean * w->mean + 1e-300);
	}
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

bool change_find(const struct window *windows, size_t n, double level, struct change *ret)
{
	size_t window[MOST_WINDOWS];
	double value[MOST_WINDOWS], weight[MOST_WINDOWS], room[MOST_WINDOWS + 1], room2[MOST_WINDOWS + 1];
	struct points p = {.value = value, .weight = weight, .window = window};
	struct segment best;

	*ret = (struct change){.z = NAN, .p = 1, .before = NAN, .during = NAN};
	for (size_t i = n > MOST_WINDOWS ? n - MOST_WINDOWS : 0; i < n; i++)
		if (windows[i].count > 0) {
			value[p.n] = windows[i].mean;
			window[p.n++] = i;
		}
	if (p.n < LEAST_WINDOWS)
		return false;
	weigh(windows, &p, room);
	best = best_segment(&p, room, room2);
	if (!(best.gain > 0))
		return false;
	ret->at = window[best.from];
	ret->until = best.to < p.n ? window[best.to] : n;
	ret->during = mean_of(windows, ret->at, ret->until, n, n);
	ret->before = mean_of(windows, 0, n, ret->at, ret->until);
	best.gain /= wandering(&p, &best);
	ret->z = copysign(sqrt(best.gain), ret->during - ret->before);
	ret->p = share_of_greater(&p, best.gain, room, room2);
	return ret->p <= level;
}
