#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "machine/chunk/chunk-writer.h"

#define REST_SMALL 63 /* takes one byte */

/* --- which ticks --- */

static uint64_t *bitmap(const struct activity *a, size_t which)
{
	return a->words + which * a->n_words;
}

static bool within(const uint64_t *part, const uint64_t *whole, size_t n_words)
{
	return !ANY_WHERE(i, n_words, part[i] & ~whole[i]);
}

static int list_ticks(struct activity *a, const uint64_t *words)
{
	a->n = 0;
	for (size_t i = 0; i < a->n_words; i++)
		a->n += (size_t)__builtin_popcountll(words[i]);
	a->ticks = calloc(a->n + 1, sizeof(*a->ticks));
	if (!a->ticks)
		return -ENOMEM;
	a->n = 0;
	for (size_t i = 0; i < a->n_words; i++)
		for (uint64_t left = words[i]; left; left &= left - 1)
			a->ticks[a->n++] = (uint32_t)((a->first_word + i) * 64) + (uint32_t)__builtin_ctzll(left);
	return 0;
}

static void find_words(const struct subject *s, struct activity *a)
{
	size_t first = SIZE_MAX, last = 0;

	for (size_t f = 0; f < s->n_features; f++) {
		const struct series *series = &s->series[f];

		if (!series->n)
			continue;
		first = series->tick[0] / 64 < first ? series->tick[0] / 64 : first;
		last = series->tick[series->n - 1] / 64 > last ? series->tick[series->n - 1] / 64 : last;
	}
	a->first_word = first == SIZE_MAX ? 0 : first;
	a->n_words = last - a->first_word + 1;
}

static int find_activity(const struct subject *s, struct activity *a)
{
	uint64_t *all;

	find_words(s, a);
	a->words = calloc((s->n_features + 1) * a->n_words, sizeof(*a->words));
	if (!a->words)
		return -ENOMEM;
	all = bitmap(a, s->n_features);
	for (size_t f = 0; f < s->n_features; f++) {
		uint64_t *own = bitmap(a, f);

		for (size_t i = 0; i < s->series[f].n; i++)
			own[s->series[f].tick[i] / 64 - a->first_word] |= 1ull << s->series[f].tick[i] % 64;
		for (size_t i = 0; i < a->n_words; i++)
			all[i] |= own[i];
	}
	return list_ticks(a, all);
}

void chunk_choose_base(const struct subject *s, struct activity *a, const struct written_column *columns,
		       size_t rank)
{
	size_t own = columns[rank].feature, best = a->n;

	a->base[own] = BASE_ACTIVITY;
	for (size_t i = 0; i < rank && best > s->series[own].n; i++) {
		size_t f = columns[i].feature, n = s->series[f].n;

		if (n < s->series[own].n || n >= best ||
		    !within(bitmap(a, own), bitmap(a, f), a->n_words))
			continue;
		best = n;
		a->base[own] = (uint8_t)(1 + f);
	}
}

/* --- rounded --- */

/* The code of a value that lies within 1 % of it, and makes what is to be carried as small as can be: the nearest, or the
 * neighbor of that. `before`: what is carried without this value. */
static uint16_t round_value(const struct scale *s, int64_t v, int64_t before, int64_t *ret_carry)
{
	unsigned code = scale_code(s, v), other;
	int64_t carry = before + v - s->value[code], instead;

	*ret_carry = carry;
	other = carry > 0 ? code + 1 : code - 1;
	if (carry == 0 || !code || other >= s->n)
		return (uint16_t)code;
	instead = before + v - s->value[other];
	if (100 * llabs(s->value[other] - v) > v || llabs(instead) >= llabs(carry))
		return (uint16_t)code;
	*ret_carry = instead;
	return (uint16_t)other;
}

/* What is left at the end goes to the largest, where the reader adds it. */
static bool takes_rest(const struct scale *s, const struct series *series, const uint16_t *codes, int64_t rest)
{
	size_t largest = 0;

	for (size_t i = 1; i < series->n; i++)
		if (codes[i] > codes[largest])
			largest = i;
	return 100 * llabs(s->value[codes[largest]] + rest - series->value[largest]) <= series->value[largest];
}

/* What rounding leaves over is carried into later values as far as they can take it, and then once more from the
 * beginning: a small rest is short to write. False if the rest cannot be put anywhere within 1 %. */
static bool round_values(const struct chunk_writer *w, const struct series *s, uint16_t *codes,
			 int64_t *ret_rest)
{
	int64_t carry = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->value[i] <= 0 || s->value[i] >= INT64_MAX / 256)
			return false;
		codes[i] = round_value(&w->scale, s->value[i], carry, &carry);
	}
	for (size_t i = 0; i < s->n && llabs(carry) > REST_SMALL; i++)
		codes[i] = round_value(&w->scale, s->value[i], carry - s->value[i] + w->scale.value[codes[i]], &carry);
	*ret_rest = carry;
	return takes_rest(&w->scale, s, codes, carry);
}

static int round_series(const struct chunk_writer *w, const struct series *s, struct rounded *ret)
{
	uint16_t *codes = malloc(s->n * sizeof(*codes));

	if (!codes)
		return -ENOMEM;
	if (round_values(w, s, codes, &ret->rest)) {
		ret->codes = codes;
		return 0;
	}
	free(codes);
	return 0;
}

static int round_subject(const struct chunk_writer *w, const struct subject *s, struct activity *a)
{
	int r = 0;

	a->rounded = calloc(s->n_features, sizeof(*a->rounded));
	if (!a->rounded)
		return -ENOMEM;
	for (size_t f = 0; r == 0 && f < s->n_features; f++)
		if (s->series[f].n && s->features[f].kind == COUNTER)
			r = round_series(w, &s->series[f], &a->rounded[f]);
	return r;
}

int activity_of(const struct chunk_writer *w, const struct subject *s, struct activity *a)
{
	int r = find_activity(s, a);

	return r == 0 ? round_subject(w, s, a) : r;
}

void activity_free(struct activity *a, size_t n_features)
{
	for (size_t f = 0; a->rounded && f < n_features; f++)
		free(a->rounded[f].codes);
	FREE_ALL(a->rounded, a->words, a->ticks);
}
