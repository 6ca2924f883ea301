#include "analysis/span/span-mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/hmap.h"
#include "base/data/vec.h"
#include "stat/welch.h"

#define VALUES_MOST 64	 /* an attribute with more of them names single requests */
#define KNOWN	    .9	 /* of the candidate's requests have a value that the baseline has, too */
#define MIX_LEAST   .01	 /* of the mean: what moves it by less is left alone */
#define SHIFT_P	    1e-3 /* that shares moved by chance, of all attributes together */
#define VARIANCE_LEAST 30	 /* requests of a stratum and side that have a variance */
#define TELLING	    .9	 /* of the variance within strata is what an attribute leaves, at most, that tells durations apart */

/* Attributes that say how a request ended: a regression moves them itself. */
static const char *const outcomes[] = {"status", "error", "response", "exception", "retry"};

struct stratum {
	struct moments side[2];
};

struct row {
	uint32_t set;
	const struct moments *total;
	int side;
	uint32_t stratum;
};

struct mixing {
	const struct forest *f;
	VEC(struct row) rows;
	VEC(struct stratum) strata;
	VEC(uint32_t) keys;
	struct hmap known; /* keys */
};

static void mixing_free(struct mixing *m)
{
	VEC_FREE(m->rows);
	VEC_FREE(m->strata);
	VEC_FREE(m->keys);
	hmap_free(&m->known);
}

static bool is_outcome(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		if (strcasestr(key, outcomes[i]))
			return true;
	return false;
}

static int add_side(struct mixing *m, const struct group *g, int side)
{
	for (size_t i = 0; i < g->leaves.n; i++) {
		const struct attribute_set *set = names_get_set(m->f->names, g->leaves.v[i].set);

		if (VEC_PUSH(m->rows, (struct row){g->leaves.v[i].set, &g->leaves.v[i].total, side, 0}) < 0)
			return -ENOMEM;
		for (uint32_t k = 0; k < set->n; k++) {
			uint32_t key = set->v[k].key;

			if (hmap_get(&m->known, key, 0) || is_outcome(names_get(m->f->names, key)))
				continue;
			if (hmap_put(&m->known, key, 0, m) < 0 || VEC_PUSH(m->keys, key) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* Puts each row into the stratum of the one it has and the key's value; the strata's number, or -ENOMEM. */
static int64_t refine(const struct mixing *m, uint32_t key, uint32_t *strata)
{
	struct hmap seen = {};
	uintptr_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->rows.n; i++) {
		const struct row *row = &m->rows.v[i];
		uint32_t value = set_value(names_get_set(m->f->names, row->set), key);
		uintptr_t at = (uintptr_t)hmap_get(&seen, row->stratum, value);

		if (!at) {
			at = ++n;
			r = hmap_put(&seen, row->stratum, value, (void *)at);
		}
		strata[i] = (uint32_t)at - 1;
	}
	hmap_free(&seen);
	return r < 0 ? r : (int64_t)n;
}

static int sum_strata(struct mixing *m, const uint32_t *strata, size_t n)
{
	m->strata.n = 0;
	while (m->strata.n < n)
		if (VEC_PUSH(m->strata, (struct stratum){}) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < m->rows.n; i++)
		moments_merge(&m->strata.v[strata[i]].side[m->rows.v[i].side], m->rows.v[i].total);
	return 0;
}

static bool on_both(const struct stratum *s)
{
	return s->side[0].samples >= 2 && s->side[1].samples >= 1;
}

/* Of strata that both sides have. False: too little of the candidate's is in such. */
static bool decompose(const struct mixing *m, struct span_mix *ret, double *ret_chi, unsigned *ret_freedom)
{
	double n[2] = {}, all = 0, effective[2] = {};

	ret->mix = ret->within = ret->error = *ret_chi = 0;
	*ret_freedom = 0;
	for (size_t i = 0; i < m->strata.n; i++) {
		const struct stratum *s = &m->strata.v[i];

		all += moments_count(&s->side[1]);
		for (int side = 0; side < 2 && on_both(s); side++) {
			n[side] += moments_count(&s->side[side]);
			effective[side] += moments_effective(&s->side[side]);
		}
	}
	if (n[1] < KNOWN * all || !(n[0] > 0))
		return false;
	for (size_t i = 0; i < m->strata.n; i++) {
		const struct stratum *s = &m->strata.v[i];
		double share[2], mean, pooled, chance;

		if (!on_both(s))
			continue;
		mean = moments_mean(&s->side[0]);
		for (int side = 0; side < 2; side++)
			share[side] = moments_count(&s->side[side]) / n[side];
		ret->mix += (share[1] - share[0]) * mean;
		ret->within += share[1] * (moments_mean(&s->side[1]) - mean);
		ret->error += share[1] * share[1] * (moments_variance(&s->side[0]) / moments_effective(&s->side[0]) +
						     moments_variance(&s->side[1]) / moments_effective(&s->side[1]));
		pooled = (share[0] * effective[0] + share[1] * effective[1]) / (effective[0] + effective[1]);
		chance = pooled * (1 / effective[0] + 1 / effective[1]);
		*ret_chi += chance > 0 ? (share[1] - share[0]) * (share[1] - share[0]) / chance : 0;
		(*ret_freedom)++;
	}
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
	return z > 0 ? normal_p(z) / 2 : 1;
}

/* The attribute by which the mean moves most, beyond what the strata have by now. 1 = found and taken, 0 = none, -ENOMEM. */
static int take_best(struct mixing *m, double mean, struct span_mix *ret)
{
	_cleanup_free_ uint32_t *strata = calloc(m->rows.n + 1, sizeof(*strata));
	struct span_mix best = *ret;
	uint32_t best_key = 0;

	if (!strata)
		return -ENOMEM;
	for (size_t k = 0; k < m->keys.n; k++) {
		struct span_mix one = *ret;
		int64_t n = refine(m, m->keys.v[k], strata);
		double chi;
		unsigned freedom;

		if (n < 0 || (n > 1 && n <= VALUES_MOST && sum_strata(m, strata, (size_t)n) < 0))
			return -ENOMEM;
		if (n < 2 || n > VALUES_MOST || !decompose(m, &one, &chi, &freedom) ||
		    chi_p(chi, freedom ? freedom - 1 : 0) * (double)m->keys.n > SHIFT_P)
			continue;
		if (fabs(one.mix - ret->mix) < MIX_LEAST * mean || (best_key && fabs(one.mix - ret->mix) <= fabs(best.mix - ret->mix)))
			continue;
		best = one;
		best_key = m->keys.v[k];
	}
	if (!best_key)
		return 0;
	if (refine(m, best_key, strata) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < m->rows.n; i++)
		m->rows.v[i].stratum = strata[i];
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

	for (size_t i = 0; r == 0 && i < m->rows.n; i++) {
		const struct row *row = &m->rows.v[i];
		uint32_t value = set_value(names_get_set(m->f->names, row->set), ret->keys[0]);
		uintptr_t at = (uintptr_t)hmap_get(&counts, value, 1);

		if (!at) {
			at = shares.n / 2 + 1;
			r = hmap_put(&counts, value, 1, (void *)at);
			if (r < 0 || VEC_PUSH(shares, 0) < 0 || VEC_PUSH(shares, 0) < 0)
				r = -ENOMEM;
		}
		n[row->side] += moments_count(row->total);
		if (r == 0)
			shares.v[2 * (at - 1) + (size_t)row->side] += moments_count(row->total);
	}
	for (size_t i = 0; r == 0 && i < m->rows.n; i++) {
		uint32_t value = set_value(names_get_set(m->f->names, m->rows.v[i].set), ret->keys[0]);
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

int span_mix_find(const struct forest *f, const struct group *before, const struct group *after, struct span_mix *ret)
{
	struct mixing m = {.f = f};
	int r;

	*ret = (struct span_mix){};
	r = add_side(&m, before, 0);
	if (r == 0)
		r = add_side(&m, after, 1);
	while (r >= 0 && ret->n_keys < MIX_KEYS && m.rows.n) {
		r = take_best(&m, moments_mean(&before->total), ret);
		if (r <= 0)
			break;
	}
	if (r >= 0 && ret->n_keys)
		r = find_value(&m, ret);
	mixing_free(&m);
	return r < 0 ? r : 0;
}

/* --- spread --- */

static bool spreads(const struct stratum *s)
{
	for (int side = 0; side < 2; side++)
		if (moments_effective(&s->side[side]) < VARIANCE_LEAST || !(moments_variance(&s->side[side]) > 0))
			return false;
	return true;
}

/* Of the baseline. NaN: too little of the candidate's is in strata that both sides have. */
static double variance_within(const struct mixing *m)
{
	double sum = 0, n[2] = {}, all = 0;

	for (size_t i = 0; i < m->strata.n; i++) {
		const struct stratum *s = &m->strata.v[i];

		all += moments_count(&s->side[1]);
		if (!spreads(s))
			continue;
		for (int side = 0; side < 2; side++)
			n[side] += moments_count(&s->side[side]);
		sum += moments_count(&s->side[0]) * moments_variance(&s->side[0]);
	}
	return n[1] >= KNOWN * all && n[0] > 0 ? sum / n[0] : NAN;
}

/* Divides the strata by the attribute that leaves the least variance, *variance so far. 1 = divided, 0 = none leaves less, -ENOMEM. */
static int divide(struct mixing *m, double *variance)
{
	_cleanup_free_ uint32_t *strata = calloc(m->rows.n + 1, sizeof(*strata));
	double least = TELLING * *variance;
	uint32_t best = 0;

	if (!strata)
		return -ENOMEM;
	for (size_t k = 0; k < m->keys.n; k++) {
		int64_t n = refine(m, m->keys.v[k], strata);
		double left;

		if (n < 0 || (n > 1 && n <= VALUES_MOST && sum_strata(m, strata, (size_t)n) < 0))
			return -ENOMEM;
		left = n > 1 && n <= VALUES_MOST ? variance_within(m) : NAN;
		if (!(left < least))
			continue;
		least = left;
		best = m->keys.v[k];
	}
	if (best && refine(m, best, strata) < 0)
		return -ENOMEM;
	for (size_t i = 0; best && i < m->rows.n; i++)
		m->rows.v[i].stratum = strata[i];
	*variance = least;
	return best != 0;
}

static double squared_variation(const struct moments *m)
{
	double mean = moments_mean(m);

	return moments_variance(m) / (mean * mean);
}

/* Of a log-normal distribution with that squared coefficient of variation. */
static double lognormal_kurtosis(double variation)
{
	double w = 1 + variation;

	return w * w * w * w + 2 * w * w * w + 3 * w * w - 3;
}

static struct span_spread sum_spread(const struct mixing *m, double kurtosis)
{
	struct span_spread all = {};

	for (size_t i = 0; i < m->strata.n; i++) {
		const struct stratum *s = &m->strata.v[i];
		double variance = 0, grown;

		if (!spreads(s))
			continue;
		for (int side = 0; side < 2; side++)
			variance += (fmax(kurtosis, lognormal_kurtosis(squared_variation(&s->side[side]))) - 1) / moments_effective(&s->side[side]);
		grown = log(squared_variation(&s->side[1]) / squared_variation(&s->side[0]));
		all.sum += grown / variance;
		all.weight += 1 / variance;
	}
	return all;
}

double span_spread_times(const struct span_spread *s)
{
	return s->weight > 0 ? exp(s->sum / s->weight / 2) : 1;
}

double span_spread_p(const struct span_spread *s)
{
	return s->sum > 0 ? normal_p(s->sum / sqrt(s->weight)) : 1;
}

static int divide_all(struct mixing *m)
{
	uint32_t *strata = calloc(m->rows.n + 1, sizeof(*strata));
	int r = strata ? sum_strata(m, strata, 1) : -ENOMEM;
	double variance = variance_within(m);

	for (int keys = 0; r >= 0 && keys < MIX_KEYS && !isnan(variance) && (r = divide(m, &variance)) > 0; keys++)
		;
	for (size_t i = 0; r >= 0 && i < m->rows.n; i++)
		strata[i] = m->rows.v[i].stratum;
	if (r >= 0)
		r = sum_strata(m, strata, m->rows.n);
	free(strata);
	return r;
}

int span_spread_find(const struct forest *f, const struct group *before, const struct group *after, double kurtosis, struct span_spread *ret)
{
	struct mixing m = {.f = f};
	int r = add_side(&m, before, 0);

	if (r == 0)
		r = add_side(&m, after, 1);
	if (r == 0 && m.rows.n)
		r = divide_all(&m);
	*ret = r == 0 && m.rows.n && !isnan(variance_within(&m)) ? sum_spread(&m, kurtosis) : (struct span_spread){};
	mixing_free(&m);
	return r;
}
