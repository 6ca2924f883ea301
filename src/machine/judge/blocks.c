#include "machine/judge/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/stat/robust.h"

#define LENGTH_MIN    (5 * NS_PER_SEC)
#define LENGTH_MAX    (60 * NS_PER_SEC)
#define BLOCKS_WANTED 12
#define RELATIVE      0.02 /* of the median: nothing is steadier than that */

int64_t blocks_recorded(const struct dataset *d, const struct method_question *q)
{
	int64_t past = 0;

	for (int64_t t = q->train_from; t <= q->train_to; t++)
		past += d->ticks.v[t].span;
	return past;
}

static void cut(struct blocks *b, const struct dataset *d, const struct method_question *q, int64_t length)
{
	int64_t since = 0;

	b->start[0] = q->train_from;
	b->learnt[0] = true;
	for (int64_t t = q->train_from; t <= q->train_to; t++) {
		since += d->ticks.v[t].span;
		b->of_tick[t] = b->n;
		b->seconds[b->n] += (double)d->ticks.v[t].span / 1e9;
		if (q->excluded && q->excluded[t])
			b->learnt[b->n] = false;
		if (since >= length) {
			b->start[++b->n] = (uint32_t)t + 1;
			b->learnt[b->n] = true;
			since = 0;
		}
	}
}

int blocks_cut(struct blocks *b, const struct dataset *d, const struct method_question *q, int64_t length)
{
	size_t room = q->train_to >= q->train_from ? (size_t)(q->train_to - q->train_from) + 2 : 2;

	*b = (struct blocks){.d = d,
			     .start = calloc(room, sizeof(*b->start)),
			     .of_tick = calloc(d->ticks.n, sizeof(*b->of_tick)),
			     .learnt = calloc(room, sizeof(*b->learnt)),
			     .seconds = calloc(room, sizeof(*b->seconds))};
	if (!b->start || !b->of_tick || !b->learnt || !b->seconds) {
		blocks_free(b);
		return -ENOMEM;
	}
	cut(b, d, q, length);
	for (size_t t = 0; t < d->ticks.n; t++)
		if (t < q->train_from || (int64_t)t > q->train_to)
			b->of_tick[t] = b->n;
	return 0;
}

int blocks_cut_by_incident(struct blocks *b, const struct dataset *d, const struct method_question *q)
{
	int64_t incident = d->ticks.v[q->at].boot - d->ticks.v[q->focus].boot + d->ticks.v[q->focus].span;
	int64_t length = incident / 2, wanted = blocks_recorded(d, q) / BLOCKS_WANTED;

	length = length < LENGTH_MIN ? LENGTH_MIN : length > LENGTH_MAX ? LENGTH_MAX : length;
	return blocks_cut(b, d, q, length > wanted ? wanted : length);
}

void blocks_free(struct blocks *b)
{
	FREE_ALL(b->start, b->of_tick, b->learnt, b->seconds);
	*b = (struct blocks){};
}

static void add_counter(const struct blocks *b, const struct subject *s, size_t f, double *sum)
{
	const struct series *series = &s->series[f];

	for (size_t i = 0; i < series->n; i++)
		sum[b->of_tick[series->tick[i]]] += (double)series->value[i];
}

static int64_t elapsed_before(const struct blocks *b, uint32_t tick)
{
	return b->d->ticks.v[tick].elapsed - b->d->ticks.v[tick].span;
}

/* An entry tells of the time back to the one before it: each block gets the share of its growth that passed in the block. */
static void add_read_late(const struct blocks *b, const struct subject *s, size_t f, double *sum)
{
	const struct series *series = &s->series[f];

	for (size_t i = 0; b->n && i < series->n; i++) {
		const struct growth_time t = subject_growth_time(b->d, s, f, i);
		const uint32_t last = series->tick[i] < b->start[b->n] ? series->tick[i] : b->start[b->n] - 1;

		for (uint32_t block = last < b->start[0] ? 0 : b->of_tick[last] + 1; block-- > 0;) {
			int64_t begin = elapsed_before(b, b->start[block]), end = b->d->ticks.v[b->start[block + 1] - 1].elapsed;

			sum[block] += subject_growth_within(b->d, s, f, i, begin, end);
			if (begin <= t.begin)
				break;
		}
	}
}

static void add_gauge(const struct blocks *b, const struct subject *s, size_t f, double *sum)
{
	const struct series *series = &s->series[f];
	double quantum = (double)s->features[f].quantum;
	size_t next = 0;

	for (uint32_t block = 0; block < b->n; block++) {
		uint32_t end = b->start[block + 1] - 1;

		if (end < s->first || end > s->last)
			continue;
		while (next < series->n && series->tick[next] <= end)
			next++;
		if (next)
			sum[block] += (double)series->value[next - 1] * quantum;
	}
}

void blocks_add(const struct blocks *b, const struct subject *s, size_t feature, double *sum)
{
	if (feature_is_read_late(s->features, feature))
		add_read_late(b, s, feature, sum);
	else if (s->features[feature].kind == COUNTER)
		add_counter(b, s, feature, sum);
	else
		add_gauge(b, s, feature, sum);
}

void blocks_add_member(const struct blocks *b, const struct subject *s, size_t feature, double *one, double *sum)
{
	const struct feature *f = &s->features[feature];

	if (!(f->flags & OF_EACH)) {
		blocks_add(b, s, feature, sum);
		return;
	}
	memset(one, 0, (b->n + 1) * sizeof(*one));
	blocks_add(b, s, feature, one);
	for (uint32_t i = 0; i <= b->n; i++)
		sum[i] = feature_together(f, sum[i], one[i]);
}

void blocks_finish(const struct blocks *b, const struct feature *feature, double *sum)
{
	for (uint32_t i = 0; i < b->n; i++) {
		if (feature->kind == COUNTER)
			sum[i] *= (double)feature->quantum / b->seconds[i];
		if (!b->learnt[i])
			sum[i] = NAN;
	}
}

size_t blocks_sort(const struct blocks *b, const double *sum, double *sorted)
{
	size_t n = 0;

	for (uint32_t i = 0; i < b->n; i++)
		if (!isnan(sum[i]))
			sorted[n++] = sum[i];
	return robust_sort(sorted, n);
}

double blocks_spread(const struct feature *feature, double scale, double median)
{
	return fmax(scale, fmax(RELATIVE * fabs(median), method_noticeable(feature)));
}
