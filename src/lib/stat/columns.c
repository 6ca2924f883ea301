#include "lib/stat/columns.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stat/width.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define LANES 16
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t counts __attribute__((vector_size(4 * LANES)));
typedef double doubles __attribute__((vector_size(8 * LANES)));

#define SAMPLE 1024 /* values that bracket the quantile of much */
#define MUCH   16384
#define FEW    24 /* are sorted */

/* Sums of what lies above `origin`, so that squares keep their digits. */
struct sums {
	uint64_t n;
	double sum, squares;
	float min, max;
};

static void sum_one(struct sums *s, float x, float origin)
{
	double d = (double)x - (double)origin;

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
	lanes low = (lanes){} + (float)INFINITY, high = (lanes){} - (float)INFINITY, from = (lanes){} + origin;
	doubles sum = {}, squares = {};
	counts there = {};

	for (size_t i = 0; i < n; i += LANES) {
		lanes x;
		doubles d;
		counts ok;

		memcpy(&x, v + i, sizeof(x));
		ok = x == x;
		low = (lanes)(((counts)x & (x < low)) | ((counts)low & ~(x < low)));
		high = (lanes)(((counts)x & (x > high)) | ((counts)high & ~(x > high)));
		x = (lanes)(((counts)x & ok) | ((counts)from & ~ok));
		d = __builtin_convertvector(x, doubles) - (double)origin;
		sum += d;
		squares += d * d;
		there -= ok;
	}
	for (int i = 0; i < LANES; i++) {
		s->sum += sum[i];
		s->squares += squares[i];
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

void column_moments_of(const struct piece *pieces, size_t n, struct column_moments *ret)
{
	float origin = first_number(pieces, n);
	struct sums s = {.min = INFINITY, .max = -INFINITY};
	double mean, variance;

	for (size_t i = 0; i < n; i++) {
		size_t whole = pieces[i].n / LANES * LANES;

		sum_part(pieces[i].v, whole, origin, &s);
		for (size_t k = whole; k < pieces[i].n; k++)
			sum_one(&s, pieces[i].v[k], origin);
	}
	mean = s.sum / (double)s.n;
	variance = s.squares / (double)s.n - mean * mean;
	*ret = (struct column_moments){s.n, (double)origin + mean, variance > 0 ? sqrt(variance) : 0, s.min,
				       s.max};
	if (!s.n)
		*ret = (struct column_moments){0, NAN, NAN, NAN, NAN};
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

/* --- selection in place: count what lies below a pivot, then keep the side that is wanted --- */

EACH_WIDTH static void count_against(const float *v, size_t n, float pivot, size_t *less, size_t *same)
{
	counts below = {}, equal = {};
	size_t i, l = 0, e = 0;

	for (i = 0; i + LANES <= n; i += LANES) {
		lanes x;

		memcpy(&x, v + i, sizeof(x));
		below -= x < pivot;
		equal -= x == pivot;
	}
	for (int k = 0; k < LANES; k++) {
		l += (size_t)below[k];
		e += (size_t)equal[k];
	}
	for (; i < n; i++) {
		l += v[i] < pivot;
		e += v[i] == pivot;
	}
	*less = l;
	*same = e;
}

static size_t keep_one_by_one(const float *v, size_t n, float low, float high, float *to)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		float x = v[i];

		to[kept] = x;
		kept += (size_t)((x >= low) & (x <= high));
	}
	return kept;
}

#ifdef __x86_64__
__attribute__((target("avx512f"))) static size_t keep_compressed(const float *v, size_t n, float low, float high, float *to)
{
	__m512 from = _mm512_set1_ps(low), until = _mm512_set1_ps(high);
	size_t kept = 0, i;

	for (i = 0; i + LANES <= n; i += LANES) {
		__m512 x = _mm512_loadu_ps(v + i);
		__mmask16 in = _mm512_cmp_ps_mask(x, from, _CMP_GE_OQ) & _mm512_cmp_ps_mask(x, until, _CMP_LE_OQ);

		_mm512_storeu_ps(to + kept, _mm512_maskz_compress_ps(in, x));
		kept += (size_t)__builtin_popcount(in);
	}
	return kept + keep_one_by_one(v + i, n - i, low, high, to + kept);
}
#endif

/* Copies what lies in [low, high], in order, to `to`: room for n + LANES there, or v itself. How many. */
static size_t keep(const float *v, size_t n, float low, float high, float *to)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f"))
		return keep_compressed(v, n, low, high, to);
#endif
	return keep_one_by_one(v, n, low, high, to);
}

static void sort_few(float *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		float x = v[i];
		size_t k = i;

		for (; k > 0 && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* The k-th smallest of n > k numbers, and the one after it (infinity after the last). */
static float select_two(float *v, size_t n, size_t k, float *ret_next)
{
	uint64_t state = n;
	float next = INFINITY;

	while (n > FEW) {
		float some[9], pivot;
		size_t less, same;

		for (int i = 0; i < 9; i++)
			some[i] = v[next_random(&state) % n];
		sort_few(some, 9);
		pivot = some[4];
		count_against(v, n, pivot, &less, &same);
		if (k < less) {
			next = pivot;
			n = keep(v, n, -INFINITY, nextafterf(pivot, -INFINITY), v);
		} else if (k + 1 < less + same) {
			*ret_next = pivot;
			return pivot;
		} else {
			bool here = k < less + same;

			n = keep(v, n, nextafterf(pivot, INFINITY), INFINITY, v);
			if (here) {
				for (size_t i = 0; i < n; i++)
					next = v[i] < next ? v[i] : next;
				*ret_next = next;
				return pivot;
			}
			k -= less + same;
		}
	}
	sort_few(v, n);
	*ret_next = k + 1 < n ? v[k + 1] : next;
	return v[k];
}

float columns_select(float *v, size_t n, size_t k)
{
	float next;

	return select_two(v, n, k, &next);
}

/* --- a quantile of much: a sample brackets it, one pass counts what lies below the bracket and keeps what is inside --- */

struct bracket {
	float low, high;
	uint64_t n, below;
};

EACH_WIDTH static void count_below(const float *v, size_t n, struct bracket *b)
{
	counts there = {}, below = {};
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES) {
		lanes x;

		memcpy(&x, v + i, sizeof(x));
		there -= x == x;
		below -= x < b->low;
	}
	for (; i < n; i++) {
		b->n += !isnan(v[i]);
		b->below += v[i] < b->low;
	}
	for (int k = 0; k < LANES; k++) {
		b->n += (uint64_t)there[k];
		b->below += (uint64_t)below[k];
	}
}

static size_t keep_inside(const float *v, size_t n, struct bracket *b, float *to)
{
	size_t kept = 0;

	/* so little at a time that it is still near when it is read again */
	for (size_t i = 0; i < n; i += MUCH / 4) {
		size_t part = n - i < MUCH / 4 ? n - i : MUCH / 4;

		count_below(v + i, part, b);
		kept += keep(v + i, part, b->low, b->high, to + kept);
	}
	return kept;
}

static size_t take_sample(const struct piece *pieces, size_t n, size_t total, float sample[SAMPLE])
{
	uint64_t state = total;
	size_t taken = 0, piece = 0, before = 0, wanted = SAMPLE;

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
		kept += keep(pieces[i].v, pieces[i].n, -INFINITY, INFINITY, to + kept);
	return kept;
}

/* Value at rank `at` (0 = least, fractions between neighbors) of n numbers. */
static double value_at(float *v, size_t n, double at)
{
	size_t k = (size_t)at;
	float next, low = select_two(v, n, k, &next);

	return (double)k == at || k + 1 >= n ? (double)low : (double)low + (at - (double)k) * ((double)next - (double)low);
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
	float sample[SAMPLE], again[SAMPLE];
	size_t taken = take_sample(pieces, n, total, sample);
	double at = q * (double)taken, away = AWAY * sqrt(q * (1 - q) * (double)taken) + 2;

	if (taken < SAMPLE / 16)
		return false;
	b->high = at + away >= (double)taken ? INFINITY : columns_select(memcpy(again, sample, sizeof(again)), taken, (size_t)(at + away));
	b->low = at - away < 0 ? -INFINITY : columns_select(sample, taken, (size_t)(at - away));
	return true;
}

double columns_quantile(const struct piece *pieces, size_t n, double q, struct select_room *room)
{
	struct bracket b = {};
	size_t total = 0, kept = 0;
	double at;

	for (size_t i = 0; i < n; i++)
		total += pieces[i].n;
	if (total < MUCH || !find_bracket(pieces, n, total, q, &b))
		return select_directly(pieces, n, total, q, room);
	for (size_t i = 0; i < n; i++) {
		if (!room_for(room, kept + pieces[i].n + LANES))
			return NAN;
		kept += keep_inside(pieces[i].v, pieces[i].n, &b, room->v + kept);
	}
	at = q * (double)(b.n - 1) - (double)b.below;
	if (at < 0 || at > (double)kept - 1)
		return select_directly(pieces, n, total, q, room);
	return value_at(room->v, kept, at);
}

double columns_median(const struct piece *pieces, size_t n, struct select_room *room)
{
	return columns_quantile(pieces, n, 0.5, room);
}
