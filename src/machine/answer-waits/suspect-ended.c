#include "machine/answer-waits/suspect-ended.h"

#include <string.h>

#include "lib/data/clock.h"

#define ENDED (2 * NS_PER_SEC) /* a program that was not seen for so long has ended; a sample may be missing of one that continues */

bool suspect_shares_program(const struct subject *s, const struct subject *one)
{
	bool brief = s->info.kind == ENTITY_SHORT_LIVED || one->info.kind == ENTITY_SHORT_LIVED;

	if (s->info.kind != ENTITY_PROCESS && s->info.kind != ENTITY_SHORT_LIVED && s->info.kind != ENTITY_KERNEL)
		return false;
	if (strcmp(s->program, one->program) == 0)
		return true;
	/* of short-lived processes only the name is known */
	return brief && s->info.name && one->info.name && strcmp(s->info.name, one->info.name) == 0;
}

static int64_t last_seen(const struct dataset *d, const struct suspect *top)
{
	const struct subject *const *v = top->together.n ? top->together.v : (const struct subject *const *)d->subjects.v;
	size_t n = top->together.n ? top->together.n : d->subjects.n;
	int64_t last = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i]->info.kind != ENTITY_KERNEL && v[i]->first <= v[i]->last && (top->together.n || suspect_shares_program(v[i], top->subject)) &&
		    d->ticks.v[v[i]->last].wall > last)
			last = d->ticks.v[v[i]->last].wall;
	return last;
}

int64_t suspect_ended(const struct dataset *d, const struct suspect *top, int64_t asked)
{
	int64_t last = last_seen(d, top), recorded = d->ticks.v[d->ticks.n - 1].wall;

	asked = asked < recorded ? asked : recorded;
	return last && asked - last >= ENDED ? asked - last : 0;
}
