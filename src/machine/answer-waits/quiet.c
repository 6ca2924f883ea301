#include "machine/answer-waits/quiet.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/clock.h"
#include "lib/data/hmap.h"

#define LEAST	(4 * NS_PER_SEC)
#define TIMES	4		  /* as long as it ever rested before */
#define KNOWN	(60 * NS_PER_SEC) /* of its life before that */

/* All processes of a program. */
struct life {
	const struct subject *there; /* at the tick that is asked about */
	uint64_t *runs;		     /* a bit a tick */
	int64_t ran;
};

static struct life *life_of(struct hmap *lives, const struct dataset *d, const struct subject *s)
{
	uint64_t hash = hmap_hash_text(s->program);
	struct life *l = hmap_get(lives, hash, 0);

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (l)
		l->runs = calloc(d->ticks.n / 64 + 1, sizeof(*l->runs));
	if (l && l->runs && hmap_put(lives, hash, 0, l) == 0)
		return l;
	if (l)
		free(l->runs);
	free(l);
	return NULL;
}

static int add_process(struct hmap *lives, const struct dataset *d, const struct subject *s, uint32_t at)
{
	const struct series *ran = &s->series[FEATURE_CPU_TIME];
	struct life *l = life_of(lives, d, s);

	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < ran->n && ran->tick[i] <= at; i++) {
		l->runs[ran->tick[i] / 64] |= (uint64_t)(ran->value[i] > 0) << ran->tick[i] % 64;
		l->ran += ran->value[i];
	}
	if (s->first <= at && s->last >= at)
		l->there = s;
	return 0;
}

/* How long it has rested at tick `at`; 0 = not longer than it does anyway. */
static int64_t rests_for(const struct dataset *d, const struct life *l, uint32_t at)
{
	const struct moment *ticks = d->ticks.v;
	int64_t longest = 0, since = 0, first = 0, last = 0, now;
	bool seen = false;

	for (uint32_t t = 0; t <= at; t++) {
		if (ticks[t].span <= 0) /* recorded again: what it did in between no one knows */
			since = ticks[t].boot;
		if (!(l->runs[t / 64] >> t % 64 & 1))
			continue;
		if (seen && ticks[t].boot - since > longest)
			longest = ticks[t].boot - since;
		first = seen ? first : ticks[t].elapsed;
		last = ticks[t].elapsed;
		since = ticks[t].boot;
		seen = true;
	}
	now = ticks[at].boot - since;
	if (since - ticks[l->there->first].boot < LEAST)
		return 0; /* this one has only begun, and has not yet done what they always do */
	return seen && last - first >= KNOWN && now >= LEAST && now >= TIMES * longest ? now : 0;
}

int quiet_find(const struct dataset *d, uint32_t at, const struct subject **ret, int64_t *ret_ns)
{
	struct hmap lives = {};
	int64_t most = 0;
	int r = 0;

	*ret = NULL;
	for (size_t i = 0; r == 0 && i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (s->info.kind == ENTITY_PROCESS && !(s->info.flags & ENTITY_IS_KERNEL_THREAD) && !entity_asks(&s->info) && s->first <= s->last && subject_has(s, FEATURE_CPU_TIME))
			r = add_process(&lives, d, s, at);
	}
	HMAP_FOREACH (slot, &lives) {
		struct life *l = slot->value;
		int64_t ns = r == 0 && l->there && l->ran > most ? rests_for(d, l, at) : 0;

		if (ns) {
			most = l->ran;
			*ret = l->there;
			*ret_ns = ns;
		}
		FREE_ALL(l->runs, l);
	}
	hmap_free(&lives);
	return r;
}
