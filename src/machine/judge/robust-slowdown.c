/* How much slower the machine is for the programs on it.
 *
 * For a second of CPU time a program takes a second and what it waits in between: to run, for the disk, for memory. How many times as long as in
 * the past it takes now is its slowdown, and that of the machine is the one in the middle of all programs that were there before, that have a
 * past, and that run enough to tell: one of them that reads much more than it used to is not a slow machine.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "lib/stat/robust.h"
#include "machine/judge/robust.h"

#define RUNS_LEAST 2e6 /* ns/s */
#define PAST_LEAST 8   /* blocks in which it ran */

size_t robust_disk_wait(const struct robust *r, const struct program *p)
{
	return robust_program_now(r, p, FEATURE_DELAY_BLOCK) > 0 ? FEATURE_DELAY_BLOCK : FEATURE_WAIT_DISK;
}

struct scratch {
	double *ran, *waited, *took; /* by block of the past */
	double left; /* of what is waited to run now, without what the question makes programs wait */
};

/* Its processes that were there before the incident, and are there now. */
static int those_from_before(const struct robust *r, const struct program *p, struct program *ret)
{
	*ret = (struct program){.key = p->key, .there = true};
	for (size_t i = 0; i < p->members.n; i++) {
		const struct subject *s = p->members.v[i];

		if (s->info.kind == ENTITY_PROCESS && s->first < r->q->focus && s->first <= s->last && s->last >= r->q->focus && VEC_PUSH(ret->members, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

static double usually_takes(struct robust *r, struct program *p, const size_t waits[], size_t n_waits, struct scratch *s)
{
	size_t n = 0;

	robust_blocks_fill(r, p, FEATURE_CPU_TIME);
	memcpy(s->ran, r->sum, r->blocks.n * sizeof(*s->ran));
	memset(s->waited, 0, r->blocks.n * sizeof(*s->waited));
	for (size_t k = 0; k < n_waits; k++) {
		robust_blocks_fill(r, p, waits[k]);
		for (uint32_t i = 0; i < r->blocks.n; i++)
			s->waited[i] += isnan(r->sum[i]) ? 0 : r->sum[i];
	}
	for (uint32_t i = 0; i < r->blocks.n; i++)
		if (s->ran[i] >= RUNS_LEAST)
			s->took[n++] = 1 + s->waited[i] / s->ran[i];
	n = robust_sort(s->took, n);
	return n >= PAST_LEAST ? robust_quantile(s->took, n, 0.5) : NAN;
}

/* It is that of its processes that were there before; all of them say how long it takes normally. */
static double slowdown_of(struct robust *r, struct program *p, const struct program *before, struct scratch *s)
{
	const size_t waits[] = {FEATURE_CPU_RUN_DELAY, robust_disk_wait(r, before), FEATURE_DELAY_RECLAIM, FEATURE_DELAY_SWAPIN, FEATURE_DELAY_THRASHING};
	double ran = robust_program_now(r, before, FEATURE_CPU_TIME), waited = 0;

	if (!(ran >= RUNS_LEAST))
		return NAN;
	for (size_t k = 0; k < ARRAY_SIZE(waits); k++)
		waited += fmax(0, robust_program_now(r, before, waits[k])) * (k ? 1 : s->left); /* of a NaN and a number the number */
	return (1 + waited / ran) / usually_takes(r, p, waits, ARRAY_SIZE(waits), s);
}

/* Where CPUs are always in use, a question takes the place of other work: it makes programs wait no longer. */
static double without_asking(const struct robust *r)
{
	double asking = 0, in_use = fmax(0, r->q->pressure.usual[BOTTLENECK_CPU]); /* of a NaN and a number the number */

	for (size_t i = 0; i < r->programs.n; i++)
		if (r->programs.v[i]->there && robust_answers_requests(r->programs.v[i]))
			asking += fmax(0, robust_program_now(r, r->programs.v[i], FEATURE_CPU_TIME));
	return method_without_asking(asking * (1 - in_use), r->total[FEATURE_CPU_TIME]);
}

static double slowdown_in_the_middle(struct robust *r, struct scratch *s, double *found)
{
	size_t n = 0;

	for (size_t i = 0; i < r->programs.n; i++) {
		struct program *p = r->programs.v[i], before;

		if (!p->there || robust_works_for_others(p) || robust_answers_requests(p))
			continue;
		found[n] = those_from_before(r, p, &before) == 0 && before.members.n ? slowdown_of(r, p, &before, s) : NAN;
		n += !isnan(found[n]);
		VEC_FREE(before.members);
	}
	n = robust_sort(found, n);
	return n ? robust_quantile(found, n, 0.5) : NAN;
}

/* Where there is pressure, and no program is seen to wait for what it is about, waits are not counted. */
static bool is_measured(const struct robust *r)
{
	const double *pressure = r->q->pressure.now;

	return (r->queued > 0 || !(pressure[BOTTLENECK_CPU] >= PRESSURE_LEAST)) && (r->blocked > 0 || !(pressure[BOTTLENECK_DISK] >= PRESSURE_LEAST));
}

double robust_slowdown(struct robust *r)
{
	size_t n = r->blocks.n + 1;
	_cleanup_free_ double *by_block = calloc(3 * n, sizeof(*by_block)), *found = calloc(r->programs.n + 1, sizeof(*found));
	struct scratch s;

	if (!by_block || !found || !is_measured(r) || r->q->train_to < r->q->train_from)
		return NAN;
	s = (struct scratch){.ran = by_block, .waited = by_block + n, .took = by_block + 2 * n, .left = without_asking(r)};
	return slowdown_in_the_middle(r, &s, found);
}
