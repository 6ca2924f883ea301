#include "stat/columns.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stat/width.h"

#define LANES 16
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t counts __attribute__((vector_size(4 * LANES)));

#define SAMPLE	  1024 /* values that bracket the quantile of much; an eighth of it those of a single column */
#define MUCH	  65536
#define DIRECT	  512  /* fewer are selected from at once */
#define PART	  4096	 /* float32 sums are kept this short before they become double */

/* Sums of what lies above `origin`, so that squares keep their digits. */
struct sums {
	uint64_t n;
	double sum, squares;
	float min, max;
};

static void sum_one(struct sums *s, float x, float origin)
{
	double d = (double)(x - origin);

	if (isnan(x))
		return;
	s->n++;
	s->sum += d;
	s->squares += d * d;
	s->min = x < s->min ? x : s->min;
	s->max = x > s->max ? x : s->max;
}

EACH_WIDTH static void sum_part(const float *v, size_t n, float origin, struct sums *s)
{
	lanes sum = {}, squares = {}, there = {}, low = sum + (float)INFINITY, high = sum - (float)INFINITY;

	for (size_t i = 0; i < n; i += LANES) {
		lanes x, d;
		counts ok;

		memcpy(&x, v + i, sizeof(x));
		ok = x == x;
		d = (lanes)((counts)(x - origin) & ok);
		sum += d;
		squares += d * d;
		there -= __builtin_convertvector(ok, lanes);
		low = (lanes)(((counts)x & (x < low)) | ((counts)low & ~(x < low)));
		high = (lanes)(((counts)x & (x > high)) | ((counts)high & ~(x > high)));
	}
	for (int i = 0; i < LANES; i++) {
		s->sum += (double)sum[i];
		s->squares += (double)squares[i];
		s->n += (uint64_t)there[i];
		s->min = low[i] < s->min ? low[i] : s->min;
		s->max = high[i] > s->max ? high[i] : s->max;
	}
}

static float first_number(const struct piece *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < pieces[i].n; k++)
			if (!isnan(pieces[i].v[k]))
				return pieces[i].v[k];
	return NAN;
}

void moments_of(const struct piece *pieces, size_t n, struct moments *ret)
{
	float origin = first_number(pieces, n);
	struct sums s = {.min = INFINITY, .max = -INFINITY};
	double mean, variance;

	for (size_t i = 0; i < n; i++) {
		size_t whole = pieces[i].n / LANES * LANES;

		for (size_t k = 0; k < whole; k += PART)
			sum_part(pieces[i].v + k, whole - k < PART ? whole - k : PART, origin, &s);
		for (size_t k = whole; k < pieces[i].n; k++)
			sum_one(&s, pieces[i].v[k], origin);
	}
	mean = s.sum / (double)s.n;
	variance = s.squares / (double)s.n - mean * mean;
	*ret = (struct moments){s.n, (double)origin + mean, variance > 0 ? sqrt(variance) : 0, s.min, s.max};
	if (!s.n)
		*ret = (struct moments){0, NAN, NAN, NAN, NAN};
}

void select_room_free(struct select_room *room)
{
	free(room->v);
	room->v = NULL;
	room->allocated = 0;
}

static bool room_for(struct select_room *room, size_t n)
{
	float *grown;

	if (n <= room->allocated)
		return true;
	n += n / 4 + 64;
	grown = realloc(room->v, n * sizeof(*grown));
	if (!grown)
		return false;
	room->v = grown;
	room->allocated = n;
	return true;
}

static void swap(float *a, float *b)
{
	float t = *a;

	*a = *b;
	*b = t;
}

/* Hoare's selection with the median of three. */
float select_kth(float *v, size_t n, size_t k)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		size_t i = low, j = high, middle = low + (high - low) / 2;
		float pivot;

		if (v[middle] < v[low])
			swap(&v[middle], &v[low]);
		if (v[high] < v[low])
			swap(&v[high], &v[low]);
		if (v[high] < v[middle])
			swap(&v[high], &v[middle]);
		pivot = v[middle];
		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i <= j) {
				swap(&v[i++], &v[j]);
				if (j-- == 0)
					break;
			}
		}
		if (j != (size_t)-1 && k <= j)
			high = j;
		else if (k >= i)
			low = i;
		else
			return v[k];
	}
	return v[k];
}

/* --- a quantile of much: a sample brackets it, one pass counts what lies below the bracket and keeps what is inside --- */

struct bracket {
	float low, high;
	uint64_t n, below;
};

EACH_WIDTH static size_t keep_inside(const float *v, size_t n, struct bracket *b, float *to)
{
	counts there = {}, below = {};
	float low = b->low, high = b->high;
	size_t kept = 0, i;

	for (i = 0; i + LANES <= n; i += LANES) {
		lanes x;

		memcpy(&x, v + i, sizeof(x));
		there += x == x;
		below += x < b->low;
		for (int k = 0; k < LANES; k++) {
			float y = v[i + k];

			to[kept] = y;
			kept += (size_t)((y >= low) & (y <= high));
		}
	}
	for (; i < n; i++) {
		b->n += !isnan(v[i]);
		b->below += v[i] < b->low;
		to[kept] = v[i];
		kept += v[i] >= b->low && v[i] <= b->high;
	}
	for (int k = 0; k < LANES; k++) {
		b->n += (uint64_t)(uint32_t)-there[k];
		b->below += (uint64_t)(uint32_t)-below[k];
	}
	return kept;
}

/* How many lie inside; b->below counts those below. */
EACH_WIDTH static size_t count_inside(const float *v, size_t n, struct bracket *b)
{
	counts inside = {}, below = {};
	size_t kept = 0, i;

	for (i = 0; i + LANES <= n; i += LANES) {
		lanes x;

		memcpy(&x, v + i, sizeof(x));
		below += x < b->low;
		inside += (x >= b->low) & (x <= b->high);
	}
	for (; i < n; i++) {
		b->below += v[i] < b->low;
		kept += v[i] >= b->low && v[i] <= b->high;
	}
	for (int k = 0; k < LANES; k++) {
		b->below += (uint64_t)(uint32_t)-below[k];
		kept += (size_t)(uint32_t)-inside[k];
	}
	return kept;
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static size_t take_sample(const struct piece *pieces, size_t n, size_t total, float sample[SAMPLE])
{
	uint64_t state = total;
	size_t taken = 0, piece = 0, before = 0, wanted = total < MUCH ? SAMPLE / 8 : SAMPLE;

	for (size_t i = 0; i < wanted; i++) {
		size_t at = i * (total / wanted) + next_random(&state) % (total / wanted);
		float x;

		while (at >= before + pieces[piece].n) {
			before += pieces[piece].n;
			if (++piece == n)
				return taken;
		}
		x = pieces[piece].v[at - before];
		if (!isnan(x))
			sample[taken++] = x;
	}
	return taken;
}

static size_t gather(const struct piece *pieces, size_t n, float *to)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < pieces[i].n; k++) {
			to[kept] = pieces[i].v[k];
			kept += !isnan(pieces[i].v[k]);
		}
	return kept;
}

/* Value at rank `at` (0 = least, fractions between neighbours) of n numbers. */
static double value_at(float *v, size_t n, double at)
{
	size_t k = (size_t)at;
	float low = select_kth(v, n, k), high = INFINITY;

	if ((double)k == at || k + 1 >= n)
		return (double)low;
	for (size_t i = k + 1; i < n; i++)
		high = v[i] < high ? v[i] : high;
	return (double)low + (at - (double)k) * ((double)high - (double)low);
}

static double select_directly(const struct piece *pieces, size_t n, size_t total, double q, struct select_room *room)
{
	size_t kept;

	if (!room_for(room, total + LANES))
		return NAN;
	kept = gather(pieces, n, room->v);
	return kept ? value_at(room->v, kept, q * (double)(kept - 1)) : NAN;
}

/* So many standard errors of a sample's quantile to each side. Where the bracket misses, once in a hundred columns, all is
 * gathered. */
#define AWAY 2.6

static bool find_bracket(const struct piece *pieces, size_t n, size_t total, double q, struct bracket *b)
{
	float sample[SAMPLE];
	size_t taken = take_sample(pieces, n, total, sample);
	double at = q * (double)taken, away = AWAY * sqrt(q * (1 - q) * (double)taken) + 2;

	if (taken < SAMPLE / 16)
		return false;
	b->low = at - away < 0 ? -INFINITY : select_kth(sample, taken, (size_t)(at - away));
	b->high = at + away >= (double)taken ? INFINITY : select_kth(sample, taken, (size_t)(at + away));
	return true;
}

/* Brackets what was kept again and again, in place, until little is left. */
static double narrow(float *v, size_t n, double at)
{
	while (n > MUCH / 16) {
		struct piece piece = {v, n};
		struct bracket b = {};
		float sample[SAMPLE];
		size_t taken = take_sample(&piece, 1, n, sample), kept;
		double middle = at / (double)n * (double)taken, away = AWAY * sqrt((double)taken) / 2 + 2;

		b.low = middle - away < 0 ? -INFINITY : select_kth(sample, taken, (size_t)(middle - away));
		b.high = middle + away >= (double)taken ? INFINITY : select_kth(sample, taken, (size_t)(middle + away));
		kept = count_inside(v, n, &b);
		if (at < (double)b.below || at > (double)(b.below + kept) - 1 || kept > n / 2)
			break;
		b.n = b.below = 0;
		n = keep_inside(v, n, &b, v);
		at -= (double)b.below;
	}
	return value_at(v, n, at);
}

double quantile_of_pieces(const struct piece *pieces, size_t n, double q, struct select_room *room)
{
	struct bracket b = {};
	size_t total = 0, kept = 0;
	double at;

	for (size_t i = 0; i < n; i++)
		total += pieces[i].n;
	if (total < DIRECT || !find_bracket(pieces, n, total, q, &b))
		return select_directly(pieces, n, total, q, room);
	for (size_t i = 0; i < n; i++) {
		if (!room_for(room, kept + pieces[i].n + LANES))
			return NAN;
		kept += keep_inside(pieces[i].v, pieces[i].n, &b, room->v + kept);
	}
	at = q * (double)(b.n - 1) - (double)b.below;
	if (at < 0 || at > (double)kept - 1)
		return select_directly(pieces, n, total, q, room);
	return narrow(room->v, kept, at);
}

double median_of(const struct piece *pieces, size_t n, struct select_room *room)
{
	return quantile_of_pieces(pieces, n, 0.5, room);
}
