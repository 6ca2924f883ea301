#include "machine/answer-waits/brief-program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/order.h"

#define LIVES_LEAST 10
#define SAMPLE	    NS_PER_SEC
#define LIVES_SHARE 0.95 /* so that one that hung before does not count */

ORDER(ascending, int64_t, CMP(*a, *b))

static bool is_like(const struct subject *other, const struct subject *s)
{
	return other != s && other->info.kind == ENTITY_PROCESS && other->first < s->first && strcmp(other->program, s->program) == 0;
}

/* Its life so far where it has not ended, up to the next sample. */
static int64_t life_of(const struct dataset *d, const struct subject *s, uint32_t until)
{
	return d->ticks.v[s->last < until ? s->last : until].boot - (int64_t)s->info.start + SAMPLE;
}

/* Those that lived for less than one sample are counted only. */
static double count_short(const struct dataset *d, const struct subject *s)
{
	double n = 0;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *group = d->subjects.v[i];
		double more;

		if (group->info.kind != ENTITY_SHORT_LIVED || group->info.parent != s->info.parent || !group->info.name || !s->info.name ||
		    strcmp(group->info.name, s->info.name) != 0)
			continue;
		more = subject_growth(d, group, FEATURE_CHILDREN_SHORT, 0, s->first);
		n += isnan(more) ? 0 : more;
	}
	return n;
}

int64_t brief_program_life(const struct dataset *d, const struct subject *s)
{
	_cleanup_free_ int64_t *lives = calloc(d->subjects.n + 1, sizeof(*lives));
	size_t n = 0, n_short = (size_t)count_short(d, s), rank;

	for (size_t i = 0; lives && i < d->subjects.n; i++)
		if (is_like(d->subjects.v[i], s))
			lives[n++] = life_of(d, d->subjects.v[i], s->first);
	if (!lives || n + n_short < LIVES_LEAST)
		return 0;
	qsort(lives, n, sizeof(*lives), ascending);
	rank = (size_t)ceil(LIVES_SHARE * (double)(n + n_short)) - 1;
	return rank < n_short ? SAMPLE : lives[rank - n_short];
}
