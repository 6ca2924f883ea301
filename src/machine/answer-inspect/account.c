#include "machine/answer-inspect/account.h"

#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"

#define COMPETES 0.05 /* of a resource, from which a competitor is worth naming */

static bool is_process(const struct subject *s)
{
	return entity_is_program(&s->info);
}

/* Marks descendants until no one new is found: parents come before their children only mostly. */
static void find_tree(const struct dataset *d, uint32_t pid, bool *in_tree)
{
	bool grew = true;

	while (grew) {
		grew = false;
		for (size_t i = 0; i < d->subjects.n; i++) {
			const struct subject *s = d->subjects.v[i];

			if (in_tree[i] || !is_process(s))
				continue;
			in_tree[i] = s->info.kind == ENTITY_PROCESS && s->info.pid == pid;
			for (size_t j = 0; !in_tree[i] && j < d->subjects.n; j++)
				in_tree[i] = in_tree[j] && d->subjects.v[j]->info.pid &&
					     d->subjects.v[j]->info.pid == s->info.parent;
			grew |= in_tree[i];
		}
	}
}

/* Sum of a feature over the tree; NaN where no one has it. */
static double sum_of(const struct dataset *d, const bool *in_tree, size_t f)
{
	double sum = NAN;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		if (!in_tree[i] || !subject_has(s, f))
			continue;
		sum = (isnan(sum) ? 0 : sum) + subject_growth(d, s, f, 0, (uint32_t)d->ticks.n - 1);
	}
	return sum;
}

static double known(double value)
{
	return isnan(value) ? 0 : value;
}

static void find_competitor(const struct dataset *d, const bool *in_tree, const size_t *features, size_t n,
			    struct account *a)
{
	double total = 0, most = 0;

	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];
		double used = 0;

		if (!is_process(s))
			continue;
		for (size_t k = 0; k < n; k++)
			used += subject_has(s, features[k]) ? subject_growth(d, s, features[k], 0, (uint32_t)d->ticks.n - 1) : 0;
		total += used;
		if (in_tree[i] || used <= most)
			continue;
		most = used;
		a->competitor = s;
	}
	a->competitor_share = total > 0 ? most / total : 0;
	if (a->competitor_share < COMPETES)
		a->competitor = NULL;
}

static void choose(const struct dataset *d, const bool *in_tree, struct account *a)
{
	static const size_t cpu[] = {FEATURE_CPU_TIME};
	static const size_t disk[] = {FEATURE_IO_READ_BYTES, FEATURE_IO_WRITE_BYTES};
	const struct {
		double time;
		enum bottleneck what;
	} candidates[] = {
		{known(a->run_delay), BOTTLENECK_CPU},	{known(a->block), BOTTLENECK_DISK},
		{known(a->memory), BOTTLENECK_MEMORY},	{known(a->throttled), BOTTLENECK_QUOTA},
		{known(a->cpu), BOTTLENECK_SELF},	{known(a->other), BOTTLENECK_UNCLEAR},
	};
	double most = 0;

	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
		if (candidates[i].time <= most)
			continue;
		most = candidates[i].time;
		a->bottleneck = candidates[i].what;
	}
	if (known(a->run_delay) > 0.05 * a->wall)
		find_competitor(d, in_tree, cpu, ARRAY_SIZE(cpu), a);
	else if (known(a->block) > 0.05 * a->wall)
		find_competitor(d, in_tree, disk, ARRAY_SIZE(disk), a);
}

void account_tree(const struct dataset *d, uint32_t pid, int64_t wall_ns, struct account *ret)
{
	_cleanup_free_ bool *in_tree = calloc(d->subjects.n + 1, sizeof(*in_tree));
	struct account a = {.wall = (double)wall_ns};
	double main_busy = 0;

	if (!in_tree || !d->ticks.n)
		return;
	find_tree(d, pid, in_tree);
	a.cpu = sum_of(d, in_tree, FEATURE_CPU_TIME);
	a.run_delay = sum_of(d, in_tree, FEATURE_CPU_RUN_DELAY);
	a.block = sum_of(d, in_tree, FEATURE_DELAY_BLOCK);
	a.memory = sum_of(d, in_tree, FEATURE_DELAY_RECLAIM) + sum_of(d, in_tree, FEATURE_DELAY_SWAPIN) +
		   sum_of(d, in_tree, FEATURE_DELAY_THRASHING);
	a.throttled = sum_of(d, in_tree, FEATURE_QUOTA_THROTTLED);
	a.read_bytes = sum_of(d, in_tree, FEATURE_IO_READ_BYTES);
	a.write_bytes = sum_of(d, in_tree, FEATURE_IO_WRITE_BYTES);
	for (size_t i = 0; i < d->subjects.n; i++)
		a.processes += in_tree[i];
	main_busy = known(a.cpu) + known(a.run_delay) + known(a.block) + known(a.memory) + known(a.throttled);
	a.other = a.wall > main_busy ? a.wall - main_busy : 0;
	choose(d, in_tree, &a);
	*ret = a;
}
