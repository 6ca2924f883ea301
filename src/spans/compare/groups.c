#include "spans/compare/groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/stat/rank.h"
#include "lib/stat/robust.h"
#include "lib/stat/welch.h"

#define LEAST_DEFAULT 0.05
#define LEVEL	      0.01
#define LEAVE_ONE_OUT 3.0
#define MAD_FROM      11 /* groups */
#define MAD_THRESHOLD 3.5
#define AGE_SHARE     .02 /* of the time of two groups */
#define AGE_REQUESTS  5
#define FLOOR	      0.01 /* of the normal: groups that agree better than this are taken to differ by it */

static double least_of(const struct group_options *o)
{
	return o->least > 0 ? o->least : LEAST_DEFAULT;
}

/* --- the paper's --------------------------------------------------------------------------------------------------- */

static bool is_older(const struct version_group *a, const struct version_group *b)
{
	return a->first_seen < b->first_seen;
}

/* Mean and standard deviation (n - 1) of group means. */
static void spread_of(const struct version_group *groups, size_t n, const struct version_group *younger, double *ret_mean,
		      double *ret_sd, size_t *ret_n)
{
	double sum = 0, squares = 0;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (!younger || is_older(&groups[i], younger)) {
			sum += groups[i].mean;
			k++;
		}
	*ret_mean = k ? sum / (double)k : NAN;
	for (size_t i = 0; i < n; i++)
		if (!younger || is_older(&groups[i], younger))
			squares += (groups[i].mean - *ret_mean) * (groups[i].mean - *ret_mean);
	*ret_sd = k > 1 ? sqrt(squares / (double)(k - 1)) : NAN;
	*ret_n = k;
}

static void judge_literally(const struct version_group *groups, size_t n, size_t at, const struct group_options *o,
			    struct group_judgement *ret)
{
	bool older = o->method == GROUPS_SDIAG_OLDER;
	double mean, sd;
	size_t k;

	spread_of(groups, n, older ? &groups[at] : NULL, &mean, &sd, &k);
	ret->normal = mean;
	ret->effect = (groups[at].mean - mean) / mean;
	ret->z = sd > 0 ? (groups[at].mean - mean) / sd : NAN;
	if (isnan(ret->z))
		ret->flags |= GROUP_NO_REFERENCE;
	if (!older && n < SDIAG_POOLED_LEAST)
		ret->flags |= GROUP_CANNOT_EXCEED;
	if (fabs(ret->z) > SDIAG_THRESHOLD)
		ret->flags |= GROUP_OUTLIER | (ret->z < 0 ? GROUP_FASTER : 0);
}

/* --- the default ---------------------------------------------------------------------------------------------------- */

/* Seen first by chance: within a few of the younger one's requests, or a small part of all the time. */
static bool are_of_an_age(const struct version_group *a, const struct version_group *b)
{
	const struct version_group *younger = is_older(a, b) ? b : a, *older = younger == a ? b : a;
	double all = (double)((a->last_seen > b->last_seen ? a->last_seen : b->last_seen) - older->first_seen);

	return a->last_seen && b->last_seen &&
	       (double)(younger->first_seen - older->first_seen) <= all * fmax(AGE_SHARE, AGE_REQUESTS / fmax(younger->effective, 1));
}

/* Is group i of n what the one at `at` is held against? Of two only the older one. */
static bool is_reference(const struct version_group *groups, size_t n, size_t i, size_t at)
{
	return i != at && (n > 2 || is_older(&groups[i], &groups[at]) || are_of_an_age(&groups[i], &groups[at]));
}

/* All groups it is held against as one. False: there is none. */
static bool the_others(const struct version_group *groups, size_t n, size_t at, struct sample_moments *ret)
{
	double count = 0, sum = 0, squares = 0, effective = 0;

	for (size_t i = 0; i < n; i++) {
		const struct version_group *g = &groups[i];

		if (!is_reference(groups, n, i, at))
			continue;
		count += g->count;
		sum += g->count * g->mean;
		squares += g->count * (g->variance + g->mean * g->mean);
		effective += g->effective;
	}
	if (!(count > 0))
		return false;
	ret->n = effective;
	ret->mean = sum / count;
	ret->variance = fmax(squares / count - ret->mean * ret->mean, 0);
	return true;
}

/* Groups differ among each other more than their sampling says: by that much too must an outlier differ. */
static double z_among_groups(const struct version_group *groups, size_t n, size_t at, double normal, double *room)
{
	double mean = 0, squares = 0, own = groups[at].variance / fmax(groups[at].effective, 1), floor;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (i != at)
			room[k++] = groups[i].mean;
	floor = sqrt(FLOOR * FLOOR * normal * normal + own);
	if (n >= MAD_FROM)
		return welch_mad_z(groups[at].mean, room, k, floor);
	for (size_t i = 0; i < k; i++)
		mean += room[i] / (double)k;
	for (size_t i = 0; i < k; i++)
		squares += (room[i] - mean) * (room[i] - mean) / (double)(k - 1);
	return (groups[at].mean - mean) / fmax(sqrt(squares), floor);
}

/* Mann-Whitney against all others, by their sketches. */
static void compare_ranks(const struct version_group *groups, size_t n, size_t at, const struct sample_moments *others,
			  struct group_judgement *ret)
{
	double weight = 0, sum = 0, p;

	for (size_t i = 0; i < n; i++) {
		const struct version_group *g = &groups[i];
		double superiority;

		if (!is_reference(groups, n, i, at) || !g->sketch || !groups[at].sketch)
			continue;
		superiority = sketch_superiority(g->sketch, groups[at].sketch);
		if (isnan(superiority))
			continue;
		sum += g->count * superiority;
		weight += g->count;
	}
	if (!(weight > 0))
		return;
	ret->superiority = sum / weight;
	p = welch_mann_whitney_p(ret->superiority, others->n, groups[at].effective);
	/* either may see it; twice the lesser one is the p of both */
	ret->p = isnan(ret->p) ? p : fmin(1, 2 * fmin(p, ret->p));
}

static void judge_robustly(const struct version_group *groups, size_t n, size_t at, double *room, struct group_judgement *ret)
{
	const struct version_group *g = &groups[at];
	struct sample_moments own = {g->effective, g->mean, g->variance}, others;
	double df, t;

	if (!the_others(groups, n, at, &others)) {
		ret->flags |= GROUP_NO_REFERENCE;
		return;
	}
	ret->normal = others.mean;
	ret->effect = (g->mean - others.mean) / others.mean;
	if (own.n < 2 || others.n < 2) {
		ret->flags |= GROUP_TOO_FEW;
		return;
	}
	t = welch_t(&others, &own, &df);
	ret->p = welch_student_p(t, df);
	ret->z = n > 2 ? z_among_groups(groups, n, at, ret->normal, room) : t;
	compare_ranks(groups, n, at, &others, ret);
}

int groups_judge(const struct version_group *groups, size_t n, const struct group_options *o, struct group_judgement *ret)
{
	_cleanup_free_ double *room = calloc(n + 1, sizeof(*room));
	double all = 0;

	if (!room)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		all += groups[i].count;
	for (size_t i = 0; i < n; i++) {
		struct group_judgement j = {.normal = NAN, .effect = NAN, .z = NAN, .p = NAN, .q = NAN, .superiority = NAN};

		j.share = all > 0 ? groups[i].count / all : 0;
		if (o->method == GROUPS_ROBUST)
			judge_robustly(groups, n, i, room, &j);
		else
			judge_literally(groups, n, i, o, &j);
		j.excess = isnan(j.normal) ? 0 : j.share * (groups[i].mean - j.normal);
		ret[i] = j;
	}
	if (o->method == GROUPS_ROBUST)
		for (size_t i = 0; i < n; i++) { /* what z says of a group among its own, before the number of tests */
			double threshold = n >= MAD_FROM ? MAD_THRESHOLD : n > 2 ? LEAVE_ONE_OUT : 0;

			if (fabs(ret[i].z) > threshold)
				ret[i].flags |= GROUP_OUTLIER;
		}
	return o->method == GROUPS_ROBUST ? groups_correct(ret, n, o) : 0;
}

int groups_correct(struct group_judgement *judgements, size_t n, const struct group_options *o)
{
	_cleanup_free_ double *p = calloc(n + 1, sizeof(*p));
	_cleanup_free_ size_t *of = calloc(n + 1, sizeof(*of));
	size_t tests = 0;

	if (!p || !of)
		return -ENOMEM;
	if (o->method != GROUPS_ROBUST)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!isnan(judgements[i].p)) {
			of[tests] = i;
			p[tests++] = judgements[i].p;
		}
	if (rank_benjamini_hochberg(p, tests) < 0)
		return -ENOMEM;
	for (size_t k = 0; k < tests; k++) {
		struct group_judgement *j = &judgements[of[k]];

		j->q = p[k];
		if (j->q > LEVEL || !(fabs(j->effect) >= least_of(o)))
			j->flags &= ~(unsigned)GROUP_OUTLIER;
		if (j->flags & GROUP_OUTLIER && j->effect < 0)
			j->flags |= GROUP_FASTER;
	}
	return 0;
}

/* --- phases of the day ------------------------------------------------------------------------------------------------ */

#define LEVEL_ROUNDS 50
#define LEVEL_MOVED  .01 /* of a mean: what less than that is of the phases */

/* level[of] = what was observed over what the other side's levels make of its counts. */
static void fit_side(const double *counts, const double *sums, size_t n, size_t phases, bool of_phases, const double *other,
		     double *level)
{
	size_t outer = of_phases ? phases : n, inner = of_phases ? n : phases;

	for (size_t a = 0; a < outer; a++) {
		double observed = 0, expected = 0;

		for (size_t b = 0; b < inner; b++) {
			size_t at = of_phases ? b * phases + a : a * phases + b;

			observed += sums[at];
			expected += counts[at] * other[b];
		}
		level[a] = expected > 0 ? observed / expected : 1;
	}
}

void groups_fit(const double *counts, const double *sums, size_t n, size_t phases, double *of_group, double *of_phase)
{
	for (size_t h = 0; h < phases; h++)
		of_phase[h] = 1;
	for (int round = 0; round < LEVEL_ROUNDS; round++) {
		fit_side(counts, sums, n, phases, false, of_phase, of_group);
		fit_side(counts, sums, n, phases, true, of_group, of_phase);
	}
	fit_side(counts, sums, n, phases, false, of_phase, of_group);
}

int groups_level(struct version_group *groups, size_t n, const double *counts, const double *sums, size_t phases)
{
	_cleanup_free_ double *of_group = calloc(n + 1, sizeof(*of_group));
	_cleanup_free_ double *of_phase = calloc(phases + 1, sizeof(*of_phase));
	double all = 0, weighted = 0;
	bool moved = false;

	if (!of_group || !of_phase)
		return -ENOMEM;
	groups_fit(counts, sums, n, phases, of_group, of_phase);
	for (size_t i = 0; i < n * phases; i++) {
		all += counts[i];
		weighted += counts[i] * of_phase[i % phases];
	}
	for (size_t i = 0; i < n && all > 0; i++) {
		double scale = groups[i].mean > 0 ? of_group[i] * weighted / all / groups[i].mean : 1;

		groups[i].mean *= scale;
		groups[i].variance *= scale * scale;
		if (fabs(scale - 1) >= LEVEL_MOVED)
			moved = true;
	}
	for (size_t i = 0; moved && i < n; i++)
		groups[i].sketch = NULL;
	return 0;
}

/* --- requests --------------------------------------------------------------------------------------------------------- */

double group_request_z(double duration, const struct version_group *older, size_t n)
{
	double count = 0, sum = 0, squares = 0, mean, variance;

	for (size_t i = 0; i < n; i++) {
		count += older[i].count;
		sum += older[i].count * older[i].mean;
		squares += older[i].count * (older[i].variance + older[i].mean * older[i].mean);
	}
	mean = sum / count;
	variance = squares / count - mean * mean;
	return variance > 0 ? (duration - mean) / sqrt(variance) : NAN;
}
