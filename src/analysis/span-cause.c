#include "analysis/span-cause.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/span-change.h"
#include "base/cleanup.h"
#include "base/hmap.h"

#define KEYS_MAX    512	 /* attributes that are counted at all */
#define KEYS_LOOKED 12	 /* ... and searched */
#define KINDS_PER_VALUE 0.5 /* an attribute with more values than this times the kinds of requests names single ones */
#define ROUNDS	    4	 /* of fitting what each attribute does by itself */
#define LEAN	    30.0 /* requests with which a kind leans on that */
#define ALIKE	    0.5  /* of what one factor for all leaves unexplained, if the causes leave more than that */
#define CAUSE_DEVIANCE 10.0 /* ... and what each cause must explain at least: a chance of one in 600 */
#define LONE_MOST   6.0
#define COVERED	    0.9	 /* of all requests: causes that together are nearly all of them tell nobody apart */
#define REPLACED    0.02 /* of the candidate's requests have a value that the baseline knows */

/* All requests with the same attributes, of both sides. codes: one a key, 0 = it does not say. */
struct kind {
	struct moments side[2];
};

struct table {
	const struct forest *f;
	uint32_t keys[KEYS_MAX];
	struct hmap key_of; /* text -> place */
	size_t n_keys;
	VEC(struct kind) kinds;
	uint32_t *values;  /* kinds x n_keys: texts */
	uint32_t looked[KEYS_LOOKED];
	size_t n_looked;
	/* of the kinds that are looked at, one after another */
	size_t n;
	uint32_t *codes; /* n x n_looked */
	uint32_t *texts[KEYS_LOOKED]; /* code -> text */
	uint32_t n_texts[KEYS_LOOKED];
	struct moments (*sides)[2];
	double *model; /* ns: the mean by what each attribute does by itself */
	double *expected, *observed, *exposure;
	double unit;
};

static void table_free(struct table *t)
{
	hmap_free(&t->key_of);
	VEC_FREE(t->kinds);
	free(t->values);
	free(t->codes);
	for (size_t k = 0; k < KEYS_LOOKED; k++)
		free(t->texts[k]);
	free(t->sides);
	free(t->model);
	free(t->expected);
	free(t->observed);
	free(t->exposure);
}

void span_causes_free(struct span_causes *c)
{
	for (size_t i = 0; i < c->list.n; i++)
		free(c->list.v[i].where);
	for (size_t i = 0; i < c->looked_at.n; i++)
		free(c->looked_at.v[i]);
	for (size_t i = 0; i < c->replaced.n; i++)
		free(c->replaced.v[i]);
	VEC_FREE(c->list);
	VEC_FREE(c->looked_at);
	VEC_FREE(c->replaced);
}

/* --- what there is ---------------------------------------------------------------------------------------------------- */

static size_t key_place(struct table *t, uint32_t key)
{
	uintptr_t place = (uintptr_t)hmap_get(&t->key_of, key, 0);

	if (place)
		return place - 1;
	if (!key || t->n_keys == KEYS_MAX || hmap_put(&t->key_of, key, 0, (void *)(uintptr_t)(t->n_keys + 1)) < 0)
		return SIZE_MAX;
	t->keys[t->n_keys] = key;
	return t->n_keys++;
}

/* Calls `visit` for each attribute of a leaf: its own, the bucket's, and which request it is. */
static void each_attribute(struct table *t, const struct bucket *b, uint32_t set, void (*visit)(struct table *, uint32_t, uint32_t, void *),
			   void *context)
{
	const struct attribute_set *s = names_get_set(t->f->names, set);

	for (uint32_t d = 0; d < t->f->n_dimensions; d++)
		if (b->values[d])
			visit(t, t->f->dimensions[d], b->values[d], context);
	visit(t, names_text(t->f->names, "request", 7), b->entry, context);
	for (uint32_t i = 0; i < s->n; i++)
		visit(t, s->v[i].key, s->v[i].value, context);
}

static void count_key(struct table *t, uint32_t key, uint32_t value, void *context)
{
	(void)value;
	(void)context;
	key_place(t, key);
}

static void put_value(struct table *t, uint32_t key, uint32_t value, void *context)
{
	size_t place = key_place(t, key);

	if (place != SIZE_MAX)
		((uint32_t *)context)[place] = value;
}

static int side_of(const struct forest *f, const struct group *g)
{
	const struct attribute_set *set = names_get_set(f->names, g->versions);

	return set->n == 1 && !strcmp(names_get(f->names, set->v[0].value), span_side_name(SIDE_CANDIDATE));
}

static int add_leaf(struct table *t, const struct bucket *b, const struct leaf *leaf, int side, struct hmap *seen)
{
	uint32_t *row = t->values + t->kinds.n * t->n_keys;
	uint64_t key, key2;
	uintptr_t place;

	memset(row, 0, t->n_keys * sizeof(*row));
	each_attribute(t, b, leaf->set, put_value, row);
	key = hash_bytes(row, t->n_keys * sizeof(*row));
	key2 = key * 0x9e3779b97f4a7c15ull ^ row[0];
	place = (uintptr_t)hmap_get(seen, key, key2);
	if (!place) {
		if (VEC_PUSH(t->kinds, (struct kind){}) < 0 || hmap_put(seen, key, key2, (void *)(uintptr_t)t->kinds.n) < 0)
			return -ENOMEM;
		place = t->kinds.n;
	}
	moments_merge(&t->kinds.v[place - 1].side[side], &leaf->total);
	return 0;
}

static int gather(struct table *t)
{
	struct hmap seen = {};
	size_t leaves = 0;
	int r = 0;

	for (size_t i = 0; i < t->f->buckets.n; i++)
		for (size_t j = 0; j < t->f->buckets.v[i].groups.n; j++)
			for (size_t k = 0; k < t->f->buckets.v[i].groups.v[j].leaves.n; k++, leaves++)
				each_attribute(t, &t->f->buckets.v[i], t->f->buckets.v[i].groups.v[j].leaves.v[k].set, count_key, NULL);
	t->values = calloc((leaves + 1) * (t->n_keys + 1), sizeof(*t->values));
	if (!t->values)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < t->f->buckets.n; i++) {
		const struct bucket *b = &t->f->buckets.v[i];

		for (size_t j = 0; j < b->groups.n; j++)
			for (size_t k = 0; r == 0 && k < b->groups.v[j].leaves.n; k++)
				r = add_leaf(t, b, &b->groups.v[j].leaves.v[k], side_of(t->f, &b->groups.v[j]), &seen);
	}
	hmap_free(&seen);
	return r;
}

/* ns, of all requests that these stand for */
static double sum_of(const struct moments *m)
{
	return (double)m->sum / (double)SPAN_WEIGHT_ONE;
}

/* --- which attributes ------------------------------------------------------------------------------------------------- */

struct value_sums {
	uint32_t text;
	double count[2], sum[2];
};

struct key_sums {
	VEC(struct value_sums) values;
	double gain; /* how much of the rise its values tell apart */
};

static int sum_values(const struct table *t, size_t key, struct key_sums *ret)
{
	struct hmap places = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->kinds.n; i++) {
		uint32_t text = t->values[i * t->n_keys + key];
		uintptr_t place = (uintptr_t)hmap_get(&places, text, 0);

		if (!place) {
			r = VEC_PUSH(ret->values, (struct value_sums){.text = text});
			if (r == 0)
				r = hmap_put(&places, text, 0, (void *)(uintptr_t)ret->values.n);
			place = ret->values.n;
		}
		for (int side = 0; r == 0 && side < 2; side++) {
			ret->values.v[place - 1].count[side] += moments_count(&t->kinds.v[i].side[side]);
			ret->values.v[place - 1].sum[side] += sum_of(&t->kinds.v[i].side[side]);
		}
	}
	hmap_free(&places);
	return r;
}

static double known_share(const struct key_sums *k)
{
	double known = 0, all = 0;

	for (size_t i = 0; i < k->values.n; i++) {
		all += k->values.v[i].count[1];
		known += k->values.v[i].count[0] > 0 ? k->values.v[i].count[1] : 0;
	}
	return all > 0 ? known / all : 0;
}

/* By how much the values' rises differ from the rise of all. */
static double gain_of(const struct key_sums *k, double factor)
{
	double gain = 0;

	for (size_t i = 0; i < k->values.n; i++) {
		const struct value_sums *v = &k->values.v[i];

		if (v->count[0] > 0 && v->count[1] > 0)
			gain += fabs(v->sum[1] - factor * v->sum[0] / v->count[0] * v->count[1]);
	}
	return gain;
}

/* The same partition of the requests as an attribute that is looked at already. */
static bool is_alias(const struct table *t, size_t key)
{
	for (size_t k = 0; k < t->n_looked; k++) {
		struct hmap there = {}, back = {};
		bool same = true;

		for (size_t i = 0; same && i < t->kinds.n; i++) {
			uint32_t a = t->values[i * t->n_keys + t->looked[k]] + 1, b = t->values[i * t->n_keys + key] + 1;
			uintptr_t x = (uintptr_t)hmap_get(&there, a, 0), y = (uintptr_t)hmap_get(&back, b, 0);

			same = (!x || x == b) && (!y || y == a);
			if (same && (hmap_put(&there, a, 0, (void *)(uintptr_t)b) < 0 || hmap_put(&back, b, 0, (void *)(uintptr_t)a) < 0))
				same = false;
		}
		hmap_free(&there);
		hmap_free(&back);
		if (same)
			return true;
	}
	return false;
}

/* "agent version = 1.7.0 (1.6.0 and 3 others before)": the values with most requests. */
static char *replacement(const struct table *t, size_t key, const struct key_sums *k)
{
	const struct value_sums *most[2] = {};
	_cleanup_str_ struct str text = {};
	size_t others[2] = {};

	for (size_t i = 0; i < k->values.n; i++)
		for (int side = 0; side < 2; side++) {
			const struct value_sums *v = &k->values.v[i];

			others[side] += most[side] && v->count[side] > 0;
			if (v->count[side] > (most[side] ? most[side]->count[side] : 0))
				most[side] = v;
		}
	for (int side = 1; side >= 0; side--) {
		const char *value = most[side] && most[side]->text ? names_get(t->f->names, most[side]->text) : "(none)";

		str_printf(&text, side ? "%s = %s" : "%s (%s", side ? names_get(t->f->names, t->keys[key]) : "", value);
		if (others[side])
			str_printf(&text, " and %zu other%s", others[side], others[side] > 1 ? "s" : "");
	}
	str_puts(&text, " before)");
	return text.error ? NULL : TAKE(text.data);
}

static void insert_looked(struct table *t, const struct key_sums *sums, uint32_t key)
{
	size_t at = t->n_looked;

	if (at == KEYS_LOOKED && sums[key].gain <= sums[t->looked[at - 1]].gain)
		return;
	at -= at == KEYS_LOOKED;
	for (; at > 0 && sums[t->looked[at - 1]].gain < sums[key].gain; at--)
		t->looked[at] = t->looked[at - 1];
	t->looked[at] = key;
	t->n_looked += t->n_looked < KEYS_LOOKED;
}

static double rise_of(const struct table *t)
{
	double sum[2] = {}, count[2] = {};

	for (size_t i = 0; i < t->kinds.n; i++)
		for (int side = 0; side < 2; side++) {
			sum[side] += sum_of(&t->kinds.v[i].side[side]);
			count[side] += moments_count(&t->kinds.v[i].side[side]);
		}
	return sum[0] > 0 && count[1] > 0 ? sum[1] / count[1] / (sum[0] / count[0]) : 1;
}

static int choose_keys(struct table *t, struct span_causes *ret)
{
	struct key_sums *sums = calloc(t->n_keys + 1, sizeof(*sums));
	double factor = rise_of(t);
	int r = sums ? 0 : -ENOMEM;

	for (uint32_t k = 0; r == 0 && k < t->n_keys; k++) {
		size_t n;

		r = sum_values(t, k, &sums[k]);
		n = sums[k].values.n;
		if (r < 0 || n < 2)
			continue;
		if (known_share(&sums[k]) < REPLACED) {
			char *text = replacement(t, k, &sums[k]);

			r = text ? VEC_PUSH(ret->replaced, text) : -ENOMEM;
			continue;
		}
		sums[k].gain = gain_of(&sums[k], factor);
		if ((n > 16 && (double)n > KINDS_PER_VALUE * (double)t->kinds.n) || is_alias(t, k))
			continue;
		insert_looked(t, sums, k);
	}
	for (size_t k = 0; r == 0 && k < t->n_looked; k++) {
		char *text = strdup(names_get(t->f->names, t->keys[t->looked[k]]));

		r = text ? VEC_PUSH(ret->looked_at, text) : -ENOMEM;
	}
	for (size_t k = 0; sums && k < t->n_keys; k++)
		VEC_FREE(sums[k].values);
	free(sums);
	return r;
}

/* --- kinds of requests by those attributes ---------------------------------------------------------------------------- */

static uint32_t code_of(struct table *t, size_t k, uint32_t text, struct hmap *codes)
{
	uintptr_t known = (uintptr_t)hmap_get(&codes[k], text, 1);

	if (!known) {
		known = t->n_texts[k] + 1;
		if (hmap_put(&codes[k], text, 1, (void *)known) < 0)
			return 0;
		t->texts[k][t->n_texts[k]++] = text;
	}
	return (uint32_t)known - 1;
}

static int project(struct table *t)
{
	struct hmap codes[KEYS_LOOKED] = {}, seen = {};
	size_t n = t->kinds.n;
	int r = 0;

	t->codes = calloc(n * t->n_looked + 1, sizeof(*t->codes));
	t->sides = calloc(n + 1, sizeof(*t->sides));
	if (!t->codes || !t->sides)
		return -ENOMEM;
	for (size_t k = 0; k < t->n_looked; k++)
		if (!(t->texts[k] = calloc(n + 1, sizeof(*t->texts[k]))))
			return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		uint32_t *row = t->codes + t->n * t->n_looked;
		uint64_t key;
		uintptr_t place;

		for (size_t k = 0; k < t->n_looked; k++)
			row[k] = code_of(t, k, t->values[i * t->n_keys + t->looked[k]], codes);
		key = hash_bytes(row, t->n_looked * sizeof(*row));
		place = (uintptr_t)hmap_get(&seen, key, 0);
		if (!place) {
			r = hmap_put(&seen, key, 0, (void *)(uintptr_t)++t->n);
			place = t->n;
		}
		for (int side = 0; r == 0 && side < 2; side++)
			moments_merge(&t->sides[place - 1][side], &t->kinds.v[i].side[side]);
	}
	for (size_t k = 0; k < t->n_looked; k++)
		hmap_free(&codes[k]);
	hmap_free(&seen);
	return r;
}

/* Iterative proportional fitting to the baseline: mean = whole x what each value does. A value it never saw does nothing. */
static int fit_model(struct table *t)
{
	double sum = 0, count = 0;

	t->model = calloc(t->n + 1, sizeof(*t->model));
	if (!t->model)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		sum += sum_of(&t->sides[i][0]);
		count += moments_count(&t->sides[i][0]);
	}
	for (size_t i = 0; i < t->n; i++)
		t->model[i] = count > 0 ? sum / count : 0;
	for (size_t round = 0; round < ROUNDS * t->n_looked; round++) {
		size_t k = round % t->n_looked;
		_cleanup_free_ double *got = calloc(2 * (size_t)t->n_texts[k] + 1, sizeof(*got));
		double *fitted = got ? got + t->n_texts[k] : NULL;

		if (!got)
			return -ENOMEM;
		for (size_t i = 0; i < t->n; i++) {
			uint32_t code = t->codes[i * t->n_looked + k];

			got[code] += sum_of(&t->sides[i][0]);
			fitted[code] += moments_count(&t->sides[i][0]) * t->model[i];
		}
		for (size_t i = 0; i < t->n; i++) {
			uint32_t code = t->codes[i * t->n_looked + k];

			t->model[i] *= fitted[code] > 0 && got[code] > 0 ? got[code] / fitted[code] : 1;
		}
	}
	return 0;
}

/* A sum of n durations varies as a count does when told in units of their variance over their mean; what is expected varies as
 * well, by as much as the baseline has fewer requests; and a sampled request is one however many it stands for. */
static double unit_of(const struct table *t)
{
	double variance = 0, mean = 0, count[2] = {}, effective[2] = {};

	for (size_t i = 0; i < t->n; i++)
		for (int side = 0; side < 2; side++) {
			const struct moments *m = &t->sides[i][side];

			if (!m->count)
				continue;
			variance += moments_count(m) * moments_variance(m);
			mean += sum_of(m);
			count[side] += moments_count(m);
			effective[side] += moments_effective(m);
		}
	if (!(mean > 0) || !(effective[0] > 0) || !(effective[1] > 0))
		return 0;
	return fmax(variance / mean, 1) * (count[1] / effective[1]) * (1 + effective[1] / effective[0]);
}

/* Of one request, within kinds, ns^2. */
static double variance_within(const struct table *t)
{
	double squares = 0, count = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct moments *m = &t->sides[i][1];

		if (moments_effective(m) < 2)
			continue;
		squares += moments_effective(m) * moments_variance(m);
		count += moments_effective(m);
	}
	return count > 0 ? squares / count : 0;
}

/* What a kind's requests took, ns, less what a single one of them that took forever makes of their mean: the difference to what is
 * expected counts by how far it goes beyond its own error (James and Stein, positive part). Of a single request nothing
 * tells the error: it counts for no more than LONE_MOST deviations of the others. */
static double mean_that_counts(const struct moments *m, double expected, double within)
{
	double n = moments_effective(m), excess = moments_mean(m) - expected, error = n > 1 ? moments_variance(m) / (n - 1) : 0;

	if (n < 2)
		return expected + fmin(excess, LONE_MOST * sqrt(within));
	return expected + (excess > 0 ? excess * fmax(0, 1 - error / (excess * excess)) : excess);
}

static int expect(struct table *t)
{
	double within = variance_within(t);

	t->expected = calloc(t->n + 1, sizeof(double));
	t->observed = calloc(t->n + 1, sizeof(double));
	t->exposure = calloc(t->n + 1, sizeof(double));
	if (!t->expected || !t->observed || !t->exposure || fit_model(t) < 0)
		return -ENOMEM;
	t->unit = unit_of(t);
	for (size_t i = 0; t->unit > 0 && i < t->n; i++) {
		double before = moments_effective(&t->sides[i][0]), now = moments_count(&t->sides[i][1]);
		double mean = before > 0 ? (before * moments_mean(&t->sides[i][0]) + LEAN * t->model[i]) / (before + LEAN) : t->model[i];

		t->observed[i] = now > 0 ? now * mean_that_counts(&t->sides[i][1], mean, within) / t->unit : 0;
		t->expected[i] = now * mean / t->unit;
		t->exposure[i] = now / t->unit;
	}
	return 0;
}

/* --- what moved ------------------------------------------------------------------------------------------------------- */

static bool agrees(const struct table *t, const struct element *e, size_t i)
{
	for (size_t k = 0; k < t->n_looked; k++)
		if (e->value[k] != ATTRIBUTE_ANY && e->value[k] != t->codes[i * t->n_looked + k])
			return false;
	return true;
}

/* Which element explains a kind: the first it agrees with; n of them = none. */
static size_t explained_by(const struct table *t, const struct attribute_findings *found, size_t i)
{
	size_t e = 0;

	while (e < found->elements.n && !agrees(t, &found->elements.v[e], i))
		e++;
	return e;
}

/* Is one factor for all as good as one for each cause? */
static int judge_alike(const struct table *t, const struct attribute_findings *found, bool *ret)
{
	size_t n = found->elements.n;
	_cleanup_free_ double *sums = calloc(2 * (n + 1), sizeof(*sums));
	double all[2] = {}, by_one = 0, by_causes = 0;

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		size_t e = explained_by(t, found, i);

		sums[2 * e] += t->observed[i];
		sums[2 * e + 1] += t->expected[i];
		all[0] += t->observed[i];
		all[1] += t->expected[i];
	}
	for (size_t i = 0; i < t->n; i++) {
		size_t e = explained_by(t, found, i);
		double one = t->expected[i] * all[0] / all[1], own = t->expected[i] * sums[2 * e] / sums[2 * e + 1];

		by_one += one > 0 ? (t->observed[i] - one) * (t->observed[i] - one) / one : 0;
		by_causes += own > 0 ? (t->observed[i] - own) * (t->observed[i] - own) / own : 0;
	}
	/* each degree of freedom is worth one by chance */
	if (!n)
		*ret = by_one < 2 * (double)t->n;
	else
		*ret = by_one - by_causes < fmax(ALIKE * (by_one - (double)t->n), CAUSE_DEVIANCE * (double)n);
	return 0;
}

static int add_cause(const struct table *t, const struct element *e, double share, struct span_causes *ret)
{
	_cleanup_str_ struct str where = {};
	struct span_cause cause = {.share = share, .moved = e->moved, .kinds = e->leaves, .requests = e->exposure * t->unit,
				   .mean = e->observed / e->exposure, .expected = e->expected / e->exposure};

	for (size_t k = 0; k < t->n_looked; k++) {
		uint32_t text = e->value[k] == ATTRIBUTE_ANY ? 0 : t->texts[k][e->value[k]];

		if (e->value[k] != ATTRIBUTE_ANY)
			str_printf(&where, "%s%s = %s", where.len ? " and " : "", names_get(t->f->names, t->keys[t->looked[k]]),
				   text ? names_get(t->f->names, text) : "(none)");
	}
	if (where.error)
		return -ENOMEM;
	cause.where = TAKE(where.data);
	if (VEC_PUSH(ret->list, cause) < 0) {
		free(cause.where);
		return -ENOMEM;
	}
	ret->explained = fmin(1, ret->explained + share);
	return 0;
}

/* The causes' share of all requests. */
static double covered(const struct attribute_findings *found)
{
	double exposure = 0;

	for (size_t i = 0; i < found->elements.n; i++)
		exposure += found->elements.v[i].exposure;
	return found->exposure > 0 ? exposure / found->exposure : 0;
}

static int search(const struct table *t, struct span_causes *ret)
{
	struct leaf_table leaves = {.n = t->n, .attributes = (unsigned)t->n_looked, .codes = t->codes, .observed = t->observed,
				    .expected = t->expected, .exposure = t->exposure, .counts = true, .quiet = {NAN, NAN, 0}};
	struct attribute_options o = {.direction = CHANGE_UP};
	struct attribute_findings found = {};
	int r = attributes_search(&leaves, &o, &found);

	if (r < 0)
		return r == -EINVAL ? 0 : r;
	ret->kinds = t->n;
	ret->tried = found.elements_tried;
	ret->mean = found.observed / found.exposure;
	ret->expected = found.expected / found.exposure;
	r = judge_alike(t, &found, &ret->alike);
	ret->alike |= found.elements.n > 1 && covered(&found) > COVERED;
	for (size_t i = 0; r == 0 && !ret->alike && i < found.elements.n; i++) {
		const struct element *e = &found.elements.v[i];
		double share = found.observed > found.expected ? (e->observed - e->expected) / (found.observed - found.expected) : e->share;

		if (share >= CAUSE_LEAST)
			r = add_cause(t, e, fmin(1, share), ret);
	}
	attribute_findings_free(&found);
	return r;
}

int span_causes_find(const struct forest *f, struct span_causes *ret)
{
	struct table t = {.f = f};
	int r;

	*ret = (struct span_causes){.searched = true};
	r = gather(&t);
	if (r == 0)
		r = choose_keys(&t, ret);
	if (r == 0 && t.n_looked)
		r = project(&t);
	if (r == 0 && t.n_looked)
		r = expect(&t);
	if (r == 0 && t.n_looked && t.unit > 0)
		r = search(&t, ret);
	table_free(&t);
	if (r < 0)
		span_causes_free(ret);
	return r;
}
