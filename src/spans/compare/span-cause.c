#include "spans/compare/span-cause.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "spans/attribute/attributes.h"
#include "spans/compare/span-example.h"
#include "spans/compare/span-kinds.h"
#include "spans/compare/span-sides.h"

#define ROUNDS	       4    /* of fitting what each attribute does by itself */
#define LEAN	       30.0 /* requests with which a kind leans on that */
#define ALIKE	       0.5  /* of what one factor for all leaves unexplained, if the causes leave more than that */
#define CAUSE_DEVIANCE 10.0 /* ... and what each cause must explain at least: a chance of one in 600 */
#define LONE_MOST      6.0
#define CAUSE_HALF     0.5  /* of the rise explained: no other search */
#define COVERED	       0.9  /* of all requests: causes that together are nearly all of them distinguish nothing */

/* What each kind of requests took, and would have taken as before; in units in which sums vary as counts do. */
struct table {
	struct kind_table kinds;
	double *model; /* ns: the mean by what each attribute does by itself */
	double *expected, *observed, *exposure;
	double unit;
	double stands_for; /* requests, of each that was read: of a sample more than 1 */
};

static void table_free(struct table *t)
{
	kind_table_free(&t->kinds);
	FREE_ALL(t->model, t->expected, t->observed, t->exposure);
}

void span_causes_free(struct span_causes *c)
{
	VEC_FREE_EACH(c->list, free(each->where); span_examples_free(each->traces, each->n_traces));
	VEC_FREE_EACH(c->looked_at, free(*each));
	VEC_FREE_EACH(c->replaced, free(*each));
}

/* --- what each would have taken ---------------------------------------------------------------------------------------- */

/* Iterative proportional fitting to the baseline: mean = whole x what each value does. A value it never saw does nothing. */
static int fit_model(struct table *t)
{
	double sum = 0, count = 0;

	t->model = calloc(t->kinds.n + 1, sizeof(*t->model));
	if (!t->model)
		return -ENOMEM;
	for (size_t i = 0; i < t->kinds.n; i++) {
		sum += kind_time(&t->kinds.v[i].side[0]);
		count += moments_count(&t->kinds.v[i].side[0]);
	}
	for (size_t i = 0; i < t->kinds.n; i++)
		t->model[i] = count > 0 ? sum / count : 0;
	for (size_t round = 0; round < ROUNDS * t->kinds.n_looked; round++) {
		size_t k = round % t->kinds.n_looked;
		_cleanup_free_ double *got = calloc(2 * (size_t)t->kinds.n_texts[k] + 1, sizeof(*got));
		double *fitted = got ? got + t->kinds.n_texts[k] : NULL;

		if (!got)
			return -ENOMEM;
		for (size_t i = 0; i < t->kinds.n; i++) {
			uint32_t code = t->kinds.codes[i * t->kinds.n_looked + k];

			got[code] += kind_time(&t->kinds.v[i].side[0]);
			fitted[code] += moments_count(&t->kinds.v[i].side[0]) * t->model[i];
		}
		for (size_t i = 0; i < t->kinds.n; i++) {
			uint32_t code = t->kinds.codes[i * t->kinds.n_looked + k];

			t->model[i] *= fitted[code] > 0 && got[code] > 0 ? got[code] / fitted[code] : 1;
		}
	}
	return 0;
}

/* A sum of n durations varies as a count does when expressed in units of their variance over their mean; what is expected varies as
 * well, by as much as the baseline has fewer requests; and a sampled request is one however many it stands for. */
static double unit_of(const struct table *t)
{
	double variance = 0, mean = 0, count[2] = {}, effective[2] = {};

	for (size_t i = 0; i < t->kinds.n; i++)
		for (int side = 0; side < 2; side++) {
			const struct moments *m = &t->kinds.v[i].side[side];

			if (!m->count)
				continue;
			variance += moments_count(m) * moments_variance(m);
			mean += kind_time(m);
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

	for (size_t i = 0; i < t->kinds.n; i++) {
		const struct moments *m = &t->kinds.v[i].side[1];

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

	t->expected = calloc(t->kinds.n + 1, sizeof(double));
	t->observed = calloc(t->kinds.n + 1, sizeof(double));
	t->exposure = calloc(t->kinds.n + 1, sizeof(double));
	if (!t->expected || !t->observed || !t->exposure || fit_model(t) < 0)
		return -ENOMEM;
	t->unit = unit_of(t);
	for (size_t i = 0; t->unit > 0 && i < t->kinds.n; i++) {
		double before = moments_effective(&t->kinds.v[i].side[0]), now = moments_count(&t->kinds.v[i].side[1]);
		double mean = before > 0 ? (before * moments_mean(&t->kinds.v[i].side[0]) + LEAN * t->model[i]) / (before + LEAN) : t->model[i];

		t->observed[i] = now > 0 ? now * mean_that_counts(&t->kinds.v[i].side[1], mean, within) / t->unit : 0;
		t->expected[i] = now * mean / t->unit;
		t->exposure[i] = now / t->unit;
	}
	return 0;
}

/* --- what moved ------------------------------------------------------------------------------------------------------- */

static bool agrees(const struct table *t, const struct element *e, size_t i)
{
	return !ANY_WHERE(k, t->kinds.n_looked, e->value[k] != ATTRIBUTE_ANY && e->value[k] != t->kinds.codes[i * t->kinds.n_looked + k]);
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
	for (size_t i = 0; i < t->kinds.n; i++) {
		size_t e = explained_by(t, found, i);

		sums[2 * e] += t->observed[i];
		sums[2 * e + 1] += t->expected[i];
		all[0] += t->observed[i];
		all[1] += t->expected[i];
	}
	for (size_t i = 0; i < t->kinds.n; i++) {
		size_t e = explained_by(t, found, i);
		double one = t->expected[i] * all[0] / all[1], own = t->expected[i] * sums[2 * e] / sums[2 * e + 1];

		by_one += one > 0 ? (t->observed[i] - one) * (t->observed[i] - one) / one : 0;
		by_causes += own > 0 ? (t->observed[i] - own) * (t->observed[i] - own) / own : 0;
	}
	/* each degree of freedom is worth one by chance */
	if (!n)
		*ret = by_one < 2 * (double)t->kinds.n;
	else
		*ret = by_one - by_causes < fmax(ALIKE * (by_one - (double)t->kinds.n), CAUSE_DEVIANCE * (double)n);
	return 0;
}

/* "cart version = (none)", "db query: shard = (none)": the requests that do not go through are not a cause; the path says what they do. */
static bool is_absence(const struct table *t, const struct element *e)
{
	for (size_t k = 0; k < t->kinds.n_looked; k++) {
		const char *key = names_get(t->kinds.f->names, t->kinds.keys[t->kinds.looked[k]]);
		size_t n = strlen(key), m = strlen(SPAN_VERSION_KEY);

		if (e->value[k] == ATTRIBUTE_ANY || t->kinds.texts[k][e->value[k]])
			continue;
		if ((n > m && !strcmp(key + n - m, SPAN_VERSION_KEY)) || kind_is_of_call(&t->kinds, t->kinds.keys[t->kinds.looked[k]]))
			return true;
	}
	return false;
}

static int add_cause(const struct table *t, const struct element *e, double share, struct span_causes *ret)
{
	_cleanup_str_ struct str where = {};
	struct span_cause cause = {.share = share, .moved = e->moved, .kinds = e->leaves, .requests = e->exposure * t->unit * t->stands_for,
				   .mean = e->observed / e->exposure, .expected = e->expected / e->exposure};

	for (size_t k = 0; k < t->kinds.n_looked; k++) {
		uint32_t text = e->value[k] == ATTRIBUTE_ANY ? 0 : t->kinds.texts[k][e->value[k]];

		if (e->value[k] != ATTRIBUTE_ANY)
			cause.terms[cause.n_terms++] = (struct attribute){t->kinds.keys[t->kinds.looked[k]], text};
		if (e->value[k] != ATTRIBUTE_ANY)
			str_printf(&where, "%s%s = %s", where.len ? " and " : "", names_get(t->kinds.f->names, t->kinds.keys[t->kinds.looked[k]]),
				   text ? names_get(t->kinds.f->names, text) : "(none)");
	}
	if (where.error)
		return -ENOMEM;
	cause.where = TAKE(where.data);
	if (VEC_PUSH_OWNER(ret->list, cause.where, cause) < 0)
		return -ENOMEM;
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
	struct leaf_table leaves = {.n = t->kinds.n, .attributes = (unsigned)t->kinds.n_looked, .codes = t->kinds.codes, .observed = t->observed,
				    .expected = t->expected, .exposure = t->exposure, .counts = true, .quiet = {NAN, NAN, 0}};
	struct attribute_options o = {.direction = CHANGE_UP};
	struct attribute_findings found = {};
	int r = attributes_search(&leaves, &o, &found);

	if (r < 0)
		return r == -EINVAL ? 0 : r;
	ret->kinds = t->kinds.n;
	ret->tried = found.elements_tried;
	ret->mean = found.observed / found.exposure;
	ret->expected = found.expected / found.exposure;
	r = judge_alike(t, &found, &ret->alike);
	ret->alike |= found.elements.n > 1 && covered(&found) > COVERED;
	for (size_t i = 0; r == 0 && !ret->alike && i < found.elements.n; i++) {
		const struct element *e = &found.elements.v[i];
		double share = found.observed > found.expected ? (e->observed - e->expected) / (found.observed - found.expected) : e->share;

		if (share >= CAUSE_LEAST && !is_absence(t, e))
			r = add_cause(t, e, fmin(1, share), ret);
	}
	attribute_findings_free(&found);
	return r;
}

static int find_by(const struct forest *f, const struct kind_query *query, struct span_causes *ret)
{
	struct table t = {.stands_for = query->side ? (double)((uint64_t)1 << f->thinned) : 1};
	int r;

	*ret = (struct span_causes){.searched = true, .sampled = query->side};
	r = kind_table_fill(f, query, &t.kinds, ret);
	if (r == 0 && t.kinds.n_looked)
		r = expect(&t);
	if (r == 0 && t.kinds.n_looked && t.unit > 0)
		r = search(&t, ret);
	table_free(&t);
	if (r < 0)
		span_causes_free(ret);
	return r;
}

struct linking {
	struct kind_table kinds;
	const struct span_cause *cause;
};

static bool shows_cause(void *state, const struct bucket *b, const struct forest_group *g, const struct sampled_request *r)
{
	struct linking *l = state;

	return kind_side_of_group(l->kinds.f, b, g, r) == 1 && kind_agrees(&l->kinds, b, r, l->cause->terms, l->cause->n_terms);
}

/* The requests that show each cause. */
static int link_traces(const struct forest *f, struct span_causes *c)
{
	struct linking l = {.kinds = {.f = f}};
	int r = 0;

	for (size_t n = 0; r == 0 && n < c->list.n; n++) {
		l.cause = &c->list.v[n];
		r = span_examples_find(f, shows_cause, &l, c->list.v[n].traces, &c->list.v[n].n_traces);
	}
	kind_table_free(&l.kinds);
	return r;
}

int span_causes_find(const struct forest *f, bool version_is_known, struct span_causes *ret)
{
	const struct kind_query all = {.without_versions = version_is_known},
				sample = {.side = kind_side_of_group, .state = f, .without_versions = version_is_known};
	struct span_causes of_calls;
	int r = find_by(f, &all, ret);

	if (r == 0 && ret->explained < CAUSE_HALF && f->n_requests) {
		r = find_by(f, &sample, &of_calls);
		if (r == 0 && of_calls.explained > ret->explained) {
			span_causes_free(ret);
			*ret = of_calls;
		} else if (r == 0) {
			span_causes_free(&of_calls);
		}
	}
	if (r == 0 && link_traces(f, ret) < 0) {
		span_causes_free(ret);
		r = -ENOMEM;
	}
	return r;
}
