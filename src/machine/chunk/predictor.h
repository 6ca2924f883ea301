/* What is expected next of a series of codes: a running mean, and how far off it was lately. Reader and
 * writer run the same one, so the distance from the mean is all that has to be written, under the model of
 * the normal distance. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/chunk/precision.h"

struct predictor {
	int32_t mean;	/* of the codes, times 16 */
	int32_t spread; /* of the distances, times 16 */
	uint32_t n;
};

/* What is known before a code is read: how large distances were lately, in octaves; of a series' first, whether it has a
 * partner. Each has a model. */
enum { CONTEXT_FIRST = 16, CONTEXT_FIRST_BY_RATIO, CONTEXTS };
static const uint8_t context_model[CONTEXTS] = {1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8, 8, 0, 9};

static inline int32_t predictor_expect(const struct predictor *p)
{
	return (p->mean + 8) >> 4;
}

static inline unsigned predictor_context_of(int32_t spread)
{
	return 31 - (unsigned)__builtin_clz((uint32_t)spread | 1);
}

static inline unsigned predictor_context(const struct predictor *p)
{
	return p->n ? predictor_context_of(p->spread) : CONTEXT_FIRST;
}

static inline void predictor_learn(struct predictor *p, int32_t code)
{
	int32_t distance = code * 16 - p->mean;
	int32_t far = distance < 0 ? -distance : distance;

	if (p->n == 0) {
		p->mean = code * 16;
		p->spread = 64;
	} else {
		unsigned shift = p->n < 2 ? 1 : p->n < 6 ? 2 : 3;

		p->mean += distance >> shift;
		p->spread += (far - p->spread) >> 2;
	}
	p->n++;
}

/* A level is not a guide to the changes that follow it. */
static const struct predictor predictor_of_changes = {.mean = 16, .spread = 64, .n = 1};

/* Many features of an entity follow each other: calls and bytes, waits and switches. Where the partner's code is known, the
 * ratio to it is another expectation, as a difference of levels; that one is taken which was closer lately. */
struct pair_predictor {
	struct predictor own;
	int32_t ratio;	/* running mean of the differences, times 16 */
	int32_t spread; /* of the distances from what the ratio gave, times 16 */
	uint32_t n;
};

static inline struct pair_predictor pair_predictor_begin(int32_t ratio)
{
	return (struct pair_predictor){.ratio = ratio * 16, .spread = 512};
}

struct expected {
	int32_t code, by_ratio;
	unsigned context;
};

/* partner: its code, or 0 where it has none at this moment. */
static inline struct expected pair_predictor_expect(const struct pair_predictor *p, const struct scale *s, int32_t partner)
{
	struct expected e = {predictor_expect(&p->own), 0, predictor_context(&p->own)};
	bool closer;

	if (!partner)
		return e;
	/* which is closer is as good as random: no branch */
	closer = !p->own.n || p->own.spread > p->spread;
	e.by_ratio = scale_at(s, scale_level(s, partner) + ((p->ratio + 8) >> 4));
	e.code = closer ? e.by_ratio : e.code;
	e.context = closer ? p->own.n ? predictor_context_of(p->spread) : CONTEXT_FIRST_BY_RATIO : e.context;
	return e;
}

static inline void pair_predictor_learn(struct pair_predictor *p, const struct scale *s, int32_t partner, const struct expected *e, int32_t code)
{
	predictor_learn(&p->own, code);
	if (partner && code) {
		int32_t far = code > e->by_ratio ? code - e->by_ratio : e->by_ratio - code;

		p->ratio += ((scale_level(s, code) - scale_level(s, partner)) * 16 - p->ratio) >> (p->n < 2 ? 1 : p->n < 6 ? 2 : 3);
		p->spread += (far * 16 - p->spread) >> 2;
		p->n++;
	}
}

/* Walks along a partner's ticks: its code at `tick`, or 0. Ticks ascend from call to call. */
struct partner {
	const uint32_t *ticks;
	const uint16_t *codes;
	size_t n, at;
};

static inline int32_t partner_code(struct partner *p, uint32_t tick)
{
	while (p->at < p->n && p->ticks[p->at] < tick)
		p->at++;
	return p->at < p->n && p->ticks[p->at] == tick ? p->codes[p->at] : 0;
}
