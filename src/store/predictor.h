/* What is expected next of a series of codes: a running mean, and how far off it was lately. Reader and
 * writer run the same one, so the distance from the mean is all that has to be written, under the model of
 * the usual distance. */
#pragma once

#include <stdint.h>

struct predictor {
	int32_t mean;	/* of the codes, times 16 */
	int32_t spread; /* of the distances, times 16 */
	uint32_t n;
};

#define PREDICTOR_MODELS 9 /* 0: the first of a series */

static inline int32_t predicted(const struct predictor *p)
{
	return (p->mean + 8) >> 4;
}

static inline unsigned predictor_model(const struct predictor *p)
{
	static const uint8_t models[16] = {1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8, 8};

	return p->n ? models[31 - __builtin_clz((uint32_t)p->spread | 1)] : 0;
}

static inline void predictor_learn(struct predictor *p, int32_t code)
{
	int32_t distance = (code << 4) - p->mean;
	int32_t far = distance < 0 ? -distance : distance;

	if (p->n == 0) {
		p->mean = code << 4;
		p->spread = 64;
	} else {
		unsigned shift = p->n < 2 ? 1 : p->n < 6 ? 2 : 3;

		p->mean += distance >> shift;
		p->spread += (far - p->spread) >> 2;
	}
	p->n++;
}

/* A level is no guide to the changes that follow it. */
static const struct predictor predictor_of_changes = {.mean = 16, .spread = 64, .n = 1};
