#include "machine/judge/older.h"

#include <math.h>

#include "lib/data/clock.h"

#define NEXT_TO (NS_PER_SEC * 60) /* of stretches that follow each other */

/* Quantiles 1/8, 3/8, 5/8 and 7/8 of a Gaussian: each stands for a quarter. */
static const double quarter[STRETCH_POINTS] = {-1.1503, -0.3186, 0.3186, 1.1503};

void older_stretch_points(const struct older_stretch *s, bool counter, double block_seconds,
		    struct weighted_value points[STRETCH_POINTS])
{
	double sum = s->members * s->of_member.mean, strays = sqrt(s->members * s->of_member.variance);
	double highest = fmax(sum, older_stretch_highest(s));

	if (counter && block_seconds > 1)
		strays /= sqrt(block_seconds);
	for (size_t i = 0; i < STRETCH_POINTS; i++) {
		points[i].value = fmin(highest, fmax(0, sum + quarter[i] * strays));
		points[i].weight = s->seconds / block_seconds / STRETCH_POINTS;
	}
}

double older_stretch_blocks_above(const struct older_stretch *s, double value, double block_seconds)
{
	double share = s->members * (1 - distribution_cdf(&s->of_member, value, 1));

	if (s->members * s->of_member.mean >= value || share > 1)
		share = 1;
	return share * s->seconds / block_seconds;
}

uint32_t older_stretch_episodes(const struct older_stretch *s, size_t n, double value, double block_seconds)
{
	uint32_t episodes = 0;
	bool before = false;

	for (size_t i = 0; i < n; i++) {
		bool high = older_stretch_blocks_above(&s[i], value, block_seconds) >= 1;

		if (i > 0 && (s[i].from > s[i - 1].to + NEXT_TO || s[i].from < s[i - 1].from)) /* or of another machine */
			before = false;
		episodes += high && !before;
		before = high;
	}
	return episodes;
}

double older_stretch_highest(const struct older_stretch *s)
{
	return fmax(s->of_member.q[QUANTILES - 1], s->members * s->of_member.mean);
}
