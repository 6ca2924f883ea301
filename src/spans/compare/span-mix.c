#include "spans/compare/span-mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "lib/stat/welch.h"

#define MIX_LEAST   .01	 /* of the mean: what moves it by less is left alone */
#define WITHIN_KNOWN .5  /* of the candidate's requests are of kinds that the baseline has, too */
#define OWN_LEAST   10	 /* requests of a kind and side, from which on their own variance counts */
#define SHIFT_P	    1e-3 /* that shares moved by chance, of all attributes together */

struct stratum {
	struct moments side[2];
};

struct mixing {
	struct division d;
	VEC(const struct moments *) totals; /* of d.rows */
	VEC(struct stratum) strata;
};

static void mixing_free(struct mixing *m)
{
	division_free(&m->d);
	VEC_FREE(m->totals);
	VEC_FREE(m->strata);
}

static int add_side(struct mixing *m, const struct forest_group *g, int side, size_t pair)
{
	for (size_t i = 0; i < g->leaves.n; i++)
		if (division_add(&m->d, g->leaves.v[i].set, side, pair) < 0 || VEC_PUSH(m->totals, &g->leaves.v[i].total) < 0)
			return -ENOMEM;
	return 0;
}

static int sum_strata(struct mixing *m, const uint32_t *strata, size_t n)
{
	m->strata.n = 0;
	while (m->strata.n < n)
		if (VEC_PUSH(m->strata, (struct stratum){}) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < m->totals.n; i++)
		moments_merge(&m->strata.v[strata[i]].side[m->d.rows.v[i].side], m->totals.v[i]);
	return 0;
}

static int sum_taken(struct mixing *m)
{
	_cleanup_free_ uint32_t *strata = calloc(m->d.rows.n + 1, sizeof(*strata));

	return strata ? sum_strata(m, strata, division_taken(&m->d, strata)) : -ENOMEM;
}

static bool on_both(const struct stratum *s)
{
	return s->side[0].samples >= 2 && s->side[1].samples >= 1;
}

/* The squared coefficient of variation within strata, all of them together. */
static double variation_within(const struct mixing *m)
{
	double sum = 0, freedom = 0;

	for (size_t i = 0; i < 2 * m->strata.n; i++) {
		const struct moments *s = &m->strata.v[i / 2].side[i % 2];
		double n = moments_effective(s), mean = moments_mean(s);

		if (s->samples < 2 || !(mean > 0))
			continue;
		sum += n * moments_variance(s) / (mean * mean);
		freedom += n - 1;
	}
	return freedom > 0 ? sum / freedom : 0;
}

/* The variance of a mean. Few requests tell no variance of their own. */
static double variance_of_mean(const struct moments *m, double variation)
{
	double n = moments_effective(m), mean = moments_mean(m);

	return n >= OWN_LEAST ? moments_variance(m) / (n - 1) : variation * mean * mean / n;
}

struct decomposed {
	double mix, within, error, mean; /* ns; mean: of the baseline at the candidate's shares */
	double freedom;			 /* of the error, by Satterthwaite (1946) */
	double chi;			 /* of the shares */
	unsigned moved;			 /* the freedom of chi */
};

/* Of strata that both sides have. False: less than `known` of the candidate's is in such. */
static bool decompose(const struct mixing *m, double known, struct decomposed *ret)
{
	double n[2] = {}, all = 0, effective[2] = {}, variation = variation_within(m), unsure = 0;

	*ret = (struct decomposed){};
	VEC_EACH(s, m->strata) {
		all += moments_count(&s->side[1]);
		for (int side = 0; side < 2 && on_both(s); side++) {
			n[side] += moments_count(&s->side[side]);
			effective[side] += moments_effective(&s->side[side]);
		}
	}
	if (n[1] < known * all || !(n[0] > 0) || !(n[1] > 0))
		return false;
	VEC_EACH(s, m->strata) {
		double share[2], mean, pooled, chance;

		if (!on_both(s))
			continue;
		mean = moments_mean(&s->side[0]);
		for (int side = 0; side < 2; side++)
			share[side] = moments_count(&s->side[side]) / n[side];
		ret->mix += (share[1] - share[0]) * mean;
		ret->within += share[1] * (moments_mean(&s->side[1]) - mean);
		ret->mean += share[1] * mean;
		for (int side = 0; side < 2; side++) {
			double one = share[1] * share[1] * variance_of_mean(&s->side[side], variation);

			ret->error += one;
			unsure += one * one / fmax(moments_effective(&s->side[side]) - 1, 1);
		}
		pooled = (share[0] * effective[0] + share[1] * effective[1]) / (effective[0] + effective[1]);
		chance = pooled * (1 / effective[0] + 1 / effective[1]);
		ret->chi += chance > 0 ? (share[1] - share[0]) * (share[1] - share[0]) / chance : 0;
		ret->moved++;
	}
	ret->freedom = unsure > 0 ? ret->error * ret->error / unsure : 1;
	ret->error = sqrt(ret->error);
	return true;
}

/* That chi squared is so great by chance (Wilson and Hilferty, 1931). */
static double chi_p(double chi, unsigned freedom)
{
	double k = freedom, z;

	if (!freedom)
		return 1;
	z = (cbrt(chi / k) - (1 - 2 / (9 * k))) / sqrt(2 / (9 * k));
	return z > 0 ? welch_normal_p(z) / 2 : 1;
}

/* The attribute by which the mean moves most, beyond what the strata have by now. 1 = found and taken, 0 = none, -ENOMEM. */
static int take_best(struct mixing *m, double mean, struct span_mix *ret)
{
	_cleanup_free_ uint32_t *strata = calloc(m->d.rows.n + 1, sizeof(*strata));
	struct span_mix best = *ret;
	uint32_t best_key = 0;

	if (!strata)
		return -ENOMEM;
	for (size_t k = 0; k < m->d.keys.n; k++) {
		struct decomposed one;
		int64_t n = division_by(&m->d, m->d.keys.v[k], strata);

		if (n < 0 || (n > 1 && n <= DIVISION_MOST && sum_strata(m, strata, (size_t)n) < 0))
			return -ENOMEM;
		if (n < 2 || n > DIVISION_MOST || !decompose(m, DIVISION_KNOWN, &one) ||
		    chi_p(one.chi, one.moved ? one.moved - 1 : 0) * (double)m->d.keys.n > SHIFT_P)
			continue;
		if (fabs(one.mix - ret->mix) < MIX_LEAST * mean || (best_key && fabs(one.mix - ret->mix) <= fabs(best.mix - ret->mix)))
			continue;
		best.mix = one.mix;
		best.within = one.within;
		best.error = one.error;
		best.freedom = one.freedom;
		best_key = m->d.keys.v[k];
	}
	if (!best_key)
		return 0;
	if (division_take(&m->d, best_key) < 0)
		return -ENOMEM;
	*ret = best;
	ret->keys[ret->n_keys++] = best_key;
	return 1;
}

/* Which value of the first attribute moved most. */
static int find_value(struct mixing *m, struct span_mix *ret)
{
	struct hmap counts = {}; /* value -> index + 1 */
	VEC(double) shares = {}; /* before, after */
	double n[2] = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->d.rows.n; i++) {
		const struct division_row *row = &m->d.rows.v[i];
		uint32_t value = attribute_set_value(names_get_set(m->d.names, row->set), ret->keys[0]);
		uintptr_t at = (uintptr_t)hmap_get(&counts, value, 1);

		if (!at) {
			at = shares.n / 2 + 1;
			r = hmap_put(&counts, value, 1, (void *)at);
			if (r < 0 || VEC_PUSH(shares, 0) < 0 || VEC_PUSH(shares, 0) < 0)
				r = -ENOMEM;
		}
		n[row->side] += moments_count(m->totals.v[i]);
		if (r == 0)
			shares.v[2 * (at - 1) + (size_t)row->side] += moments_count(m->totals.v[i]);
	}
	for (size_t i = 0; r == 0 && i < m->d.rows.n; i++) {
		uint32_t value =
			attribute_set_value(names_get_set(m->d.names, m->d.rows.v[i].set), ret->keys[0]);
		size_t at = (uintptr_t)hmap_get(&counts, value, 1) - 1;
		double before = shares.v[2 * at] / n[0], after = shares.v[2 * at + 1] / n[1];

		if (fabs(after - before) <= fabs(ret->share_after - ret->share_before))
			continue;
		ret->value = value;
		ret->share_before = before;
		ret->share_after = after;
	}
	hmap_free(&counts);
	VEC_FREE(shares);
	return r;
}

int span_mix_find(const struct forest *f, const struct forest_group *before, const struct forest_group *after, struct span_mix *ret)
{
	_cleanup_(mixing_free) struct mixing m = {.d.names = f->names};
	int r;

	*ret = (struct span_mix){};
	r = add_side(&m, before, 0, 0);
	r = r ?: add_side(&m, after, 1, 0);
	while (r >= 0 && ret->n_keys < MIX_KEYS && m.d.rows.n) {
		r = take_best(&m, moments_mean(&before->total), ret);
		if (r <= 0)
			break;
	}
	if (r >= 0 && ret->n_keys)
		r = find_value(&m, ret);
	return r < 0 ? r : 0;
}

int span_mix_within(const struct forest *f, const struct span_pair *pairs, size_t n, const uint32_t *keys, size_t n_keys, struct span_within *ret)
{
	_cleanup_(mixing_free) struct mixing m = {.d.names = f->names};
	struct decomposed all = {}, of_pairs = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		r = add_side(&m, pairs[i].before, 0, i);
		r = r ?: add_side(&m, pairs[i].after, 1, i);
	}
	r = r ?: sum_taken(&m);
	if (r == 0)
		decompose(&m, WITHIN_KNOWN, &of_pairs);
	for (size_t k = 0; r == 0 && k < n_keys; k++)
		r = division_take(&m.d, keys[k]) < 0 ? -ENOMEM : 0;
	r = r ?: sum_taken(&m);
	r = r ?: decompose(&m, WITHIN_KNOWN, &all);
	*ret = (struct span_within){all.within, all.error, all.freedom, all.mean, 1};
	if (all.moved > of_pairs.moved)
		ret->p_shares = chi_p(fmax(0, all.chi - of_pairs.chi), all.moved - of_pairs.moved);
	return r;
}
