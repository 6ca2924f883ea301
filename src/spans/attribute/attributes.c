#include "spans/attribute/attributes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data/cleanup.h"
#include "lib/stat/robust.h"
#include "spans/attribute/attributes-cells.h"

#define MOST_DEFAULT 16
#define SIGNIFICANT  4.6	  /* nats: a cause must be a hundred times likelier than chance, after its multiplicity */
#define SPREAD_LEAST 0.02	  /* of a cause's effect on its leaves, in r */
#define CERTAIN	     5.0  /* deviations of the whole: then something did it */
#define SHARE_LEAST  0.05 /* of the change */
#define SHARE_MOST   0.5
#define RATE_LEAST   0.5 /* of its leaves a cause moves: a cause that spares most is several, or another */
#define EFFECT_LEAST 0.1 /* of r: what moves less is not a cause, however sure */
#define TELLING	     40.0 /* nats: beyond it a leaf leaves no doubt */
#define HOPELESS     -50.0 /* nats: a first fit this bad is not refined */
#define ROUNDS	     4

/* A leaf as the score sees it. */
struct leaf {
	double r, s;	     /* change, and what noise makes of it */
	double weight;	     /* 1 / s^2 */
	double log_noise;    /* log N(r; 0, s^2) */
	double background;   /* log((noise or whim) / noise) */
	bool forward;	     /* goes the way of the change */
	bool explained;
};

struct search {
	const struct leaf_table *table;
	struct leaf *leaves;
	uint32_t *moved; /* leaves that say something: indices into the table */
	size_t n_moved;
	struct leaf_gist *gists; /* by leaf */
	struct cells found;
	double whims;
	double sign; /* +1: the metric rose */
	double noise;
	double counting; /* variance of a count, in its mean */
	double whole;	 /* r of all leaves together, in the change's direction */
	bool certain;	 /* the whole moved beyond doubt: something did it */
};

static double log_normal(double x, double variance)
{
	return -0.5 * x * x / variance - 0.5 * log(2 * M_PI * variance);
}

/* log(p e^t + 1 - p) */
static double log_mixture(double p, double t)
{
	if (p >= 1)
		return t;
	return t > 30 ? t + log(p) : log1p(p * expm1(t));
}

/* --- what noise does ---------------------------------------------------------------------------------------------- */

double attributes_relative_change(double observed, double expected)
{
	double greater = fmax(observed, expected);

	return greater > 0 ? (observed - expected) / greater : 0;
}

double attributes_count_spread(double observed, double expected)
{
	double r = attributes_relative_change(observed, expected), deviance;

	if (fabs(r) < 1e-3)
		return 1 / sqrt(fmax(expected, 0.25));
	deviance = 2 * ((observed > 0 ? observed * log(observed / expected) : 0) - (observed - expected));
	return fabs(r) / sqrt(fmax(deviance, 1e-12));
}

static int sign_of_change(const struct leaf_table *t, enum change_direction direction)
{
	double change = 0;

	if (direction != CHANGE_AUTO)
		return direction == CHANGE_UP ? 1 : -1;
	for (size_t i = 0; i < t->n; i++)
		change += t->observed[i] - t->expected[i];
	return change >= 0 ? 1 : -1;
}

/* Median of r^2 over that of a Gaussian of variance 1. */
static double robust_variance(double *squares, size_t n)
{
	return robust_quantile(squares, robust_sort(squares, n), 0.5) / 0.454936;
}

/* Leaves that go against the change are no one's effect: half of the noise, and all of it by symmetry. Of counts the
 * part that counting does not explain is what the busiest leaves vary. */
static int learn_noise(struct search *s)
{
	const struct leaf_table *t = s->table;
	_cleanup_free_ double *squares = calloc(s->n_moved ? s->n_moved : 1, sizeof(*squares));
	_cleanup_free_ double *counting = calloc(s->n_moved ? s->n_moved : 1, sizeof(*counting));
	size_t n = 0;

	if (!squares || !counting)
		return -ENOMEM;
	for (size_t k = 0; k < s->n_moved; k++) {
		uint32_t i = s->moved[k];
		double r = attributes_relative_change(t->observed[i], t->expected[i]);

		if (r * s->sign > 0)
			continue;
		counting[n] = t->counts ? attributes_count_spread(t->observed[i], t->expected[i]) : 0;
		squares[n] = r * r;
		n++;
	}
	s->counting = isnan(t->quiet.counting) ? 1 : t->quiet.counting;
	s->noise = isnan(t->quiet.noise) ? 0 : t->quiet.noise;
	if (!isnan(t->quiet.noise))
		return 0;
	if (!t->counts) {
		s->noise = n ? sqrt(robust_variance(squares, n)) : 0;
		return 0;
	}
	for (size_t k = 0; k < n; k++)
		squares[k] /= counting[k] * counting[k];
	if (n >= 8)
		s->counting = fmax(1, robust_variance(squares, n));
	return 0;
}

static void weigh_leaf(struct search *s, uint32_t i)
{
	const struct leaf_table *t = s->table;
	struct leaf *leaf = &s->leaves[i];
	double counting = t->counts ? attributes_count_spread(t->observed[i], t->expected[i]) : 0;

	leaf->r = s->sign * attributes_relative_change(t->observed[i], t->expected[i]);
	leaf->forward = leaf->r > 0;
	leaf->s = sqrt(s->counting * counting * counting + s->noise * s->noise + 1e-6);
	leaf->weight = 1 / (leaf->s * leaf->s);
	leaf->log_noise = log_normal(leaf->r, leaf->s * leaf->s);
	leaf->background = leaf->forward ? log_mixture(s->whims, -leaf->log_noise) : log1p(-s->whims);
}

static void weigh_whole(struct search *s)
{
	const struct leaf_table *t = s->table;
	double observed = 0, expected = 0, variance = 0;

	for (size_t k = 0; k < s->n_moved; k++) {
		uint32_t i = s->moved[k];
		double greater = fmax(t->observed[i], t->expected[i]);

		observed += t->observed[i];
		expected += t->expected[i];
		variance += s->leaves[i].s * s->leaves[i].s * greater * greater;
	}
	s->whole = s->sign * attributes_relative_change(observed, expected);
	s->certain = s->whole > EFFECT_LEAST && s->sign * (observed - expected) > CERTAIN * sqrt(variance);
	s->whole = fmax(s->whole, 0);
}

static void sum_up_leaf(struct search *s, uint32_t i)
{
	const struct leaf *leaf = &s->leaves[i];
	double least = fmax(EFFECT_LEAST, s->whole), own = leaf->weight / (1 + least * least * leaf->weight);

	s->gists[i] = (struct leaf_gist){(float)leaf->weight, (float)(leaf->r * leaf->weight), (float)own,
					 leaf->r > EFFECT_LEAST ? (float)own : 0};
}

static int weigh_leaves(struct search *s)
{
	const struct leaf_table *t = s->table;
	int e;

	for (size_t i = 0; i < t->n; i++)
		if (t->observed[i] > 0 || t->expected[i] > 0)
			s->moved[s->n_moved++] = (uint32_t)i;
	e = learn_noise(s);
	if (e < 0)
		return e;
	s->whims = fmax(t->quiet.whims, 1e-9);
	for (size_t k = 0; k < s->n_moved; k++)
		weigh_leaf(s, s->moved[k]);
	weigh_whole(s);
	for (size_t k = 0; k < s->n_moved; k++)
		sum_up_leaf(s, s->moved[k]);
	return 0;
}

/* --- the score ------------------------------------------------------------------------------------------------------ */

/* What a cause does to the leaves of its element. */
struct effect {
	double log_spread; /* of a Gaussian: log(spread sqrt(2 pi)) */
	double rate;   /* share of leaves that move */
	double mean;   /* of r; not below the whole's: if only the cause moved, the whole moved less */
	double spread; /* of r, next to noise if `noisy` */
	bool noisy;    /* the leaves' own noise is added (it is where the noise is of counting) */
};

static double effect_log(const struct effect *e, const struct leaf *leaf)
{
	double variance = e->spread * e->spread, x = leaf->r - e->mean;

	return e->noisy ? log_normal(x, variance + leaf->s * leaf->s) : -0.5 * x * x / variance - e->log_spread;
}

struct sums {
	double weight, mean, square, noise, rate, n;
};

/* One step of expectation and maximisation. Returns the likelihood over the background under the effect it came with. */
static double refine(const struct search *s, const struct attribute_cell *c, struct effect *e, bool start)
{
	struct sums sum = {};
	double likelihood = 0, product = 1, mean; /* logarithms are dear: factors are multiplied while they fit */

	for (uint32_t k = 0; k < c->n; k++) {
		const struct leaf *leaf = &s->leaves[s->found.members.v[c->first + k]];
		double t, share, weight;

		if (leaf->explained)
			continue;
		t = start ? (leaf->forward ? -leaf->log_noise : -20) : effect_log(e, leaf) - leaf->log_noise;
		share = t > -TELLING ? e->rate * exp(fmin(t, TELLING)) : 0;
		product *= share + 1 - e->rate;
		share /= share + 1 - e->rate;
		likelihood += fmax(t - TELLING, 0) - leaf->background;
		if (product > 1e200 || product < 1e-200) {
			likelihood += log(product);
			product = 1;
		}
		sum.n++;
		if (share < 1e-9)
			continue;
		weight = share / (SPREAD_LEAST + (e->noisy ? leaf->s * leaf->s : 0));
		sum.weight += weight;
		sum.mean += weight * leaf->r;
		sum.square += weight * leaf->r * leaf->r;
		sum.noise += weight * leaf->s * leaf->s;
		sum.rate += share;
	}
	likelihood += log(product);
	if (!(sum.weight > 0))
		return -INFINITY;
	mean = sum.mean / sum.weight;
	e->mean = fmax(mean, s->whole);
	e->spread = sqrt(fmax(sum.square / sum.weight - 2 * mean * e->mean + e->mean * e->mean - (e->noisy ? sum.noise / sum.weight : 0),
			      SPREAD_LEAST * SPREAD_LEAST));
	e->log_spread = log(e->spread) + 0.5 * log(2 * M_PI);
	e->rate = fmin(fmax(sum.rate / sum.n, RATE_LEAST), 0.999);
	return likelihood;
}

/* What it costs to have fitted the effect's mean, spread and rate to n leaves. */
static double fitted(const struct effect *e, double n)
{
	double moved = fmax(e->rate * n, 1);

	return fmax(log(sqrt(moved) / (e->spread * sqrt(2 * M_PI))), 0) + 0.5 * log(moved) + 0.5 * log(n);
}

static double fit(const struct search *s, const struct attribute_cell *c, double rate, bool noisy, double n, struct effect *ret)
{
	struct effect e = {.rate = rate, .noisy = noisy, .mean = 0, .spread = 1}, before;
	double likelihood = -INFINITY;

	refine(s, c, &e, true);
	for (int i = 0; i < ROUNDS; i++) {
		double last = likelihood;

		before = e;
		likelihood = refine(s, c, &e, false);
		if (likelihood < HOPELESS || likelihood - last < 0.05)
			break;
	}
	*ret = before;
	return before.mean > EFFECT_LEAST ? likelihood - fitted(&before, n) : -INFINITY;
}

/* How many leaves it has that nothing explains yet; 0 where the cheap test says that it is not a cause. */
static size_t leaves_to_explain(const struct search *s, const struct attribute_cell *c)
{
	struct leaf_gist sum = {};
	size_t n = 0;

	for (uint32_t k = 0; k < c->n; k++) {
		uint32_t i = s->found.members.v[c->first + k];

		if (s->leaves[i].explained)
			continue;
		leaf_gist_add(&sum, &s->gists[i]);
		n++;
	}
	return leaf_gist_is_hopeful(&sum) ? n : 0;
}

static double score(const struct search *s, const struct attribute_cell *c, struct effect *ret)
{
	double best = -INFINITY, n = (double)leaves_to_explain(s, c);

	if (!(n > 0))
		return -INFINITY;
	for (int variant = 0; variant < 4 && (variant < 2 || best > HOPELESS); variant++) {
		struct effect e;
		bool noisy = variant & 1;
		double got;

		if (!noisy && s->table->counts)
			continue;
		got = fit(s, c, variant & 2 ? RATE_LEAST : 0.98, noisy, n, &e);
		if (got > best) {
			best = got;
			*ret = e;
		}
	}
	return best - c->cost;
}

/* --- the search ----------------------------------------------------------------------------------------------------- */

static void describe(const struct search *s, const struct attribute_cell *c, const struct effect *effect,
		     double change, struct element *ret)
{
	const struct leaf_table *t = s->table;
	const uint32_t *codes = t->codes + (size_t)s->found.members.v[c->first] * t->attributes;

	*ret = (struct element){.score = c->score, .moved = effect->rate, .shift = s->sign * effect->mean,
				.exposure = t->exposure ? 0 : NAN};
	for (unsigned a = 0; a < ATTRIBUTES_MAX; a++)
		ret->value[a] = a < t->attributes && c->attributes >> a & 1 ? codes[a] : ATTRIBUTE_ANY;
	ret->fixed = (unsigned)__builtin_popcount(c->attributes);
	for (uint32_t k = 0; k < c->n; k++) {
		uint32_t i = s->found.members.v[c->first + k];

		if (s->leaves[i].explained)
			continue;
		ret->observed += t->observed[i];
		ret->expected += t->expected[i];
		ret->leaves++;
		if (t->exposure)
			ret->exposure += t->exposure[i];
	}
	ret->share = change > 0 ? s->sign * (ret->observed - ret->expected) / change : 0;
}

/* The sum of what leaves changed in the change's direction. */
static double forward_change(const struct search *s)
{
	double change = 0;

	for (size_t k = 0; k < s->n_moved; k++) {
		uint32_t i = s->moved[k];

		if (s->leaves[i].forward)
			change += s->sign * (s->table->observed[i] - s->table->expected[i]);
	}
	return change;
}

static void set_aside(struct search *s, const struct attribute_cell *c)
{
	for (uint32_t k = 0; k < c->n; k++)
		s->leaves[s->found.members.v[c->first + k]].explained = true;
}

/* Only what shares leaves with what was set aside has another score now. */
static bool touched(const struct search *s, const struct attribute_cell *c)
{
	return ANY_WHERE(k, c->n, s->leaves[s->found.members.v[c->first + k]].explained);
}

/* Causes are looked for one at a time, so one that covers two by sparing many leaves must not come before either. */
static double preference(const struct attribute_cell *c)
{
	return c->score > 0 ? c->score * c->purity : c->score;
}

/* Of a change that is beyond doubt the likeliest cause of most of it is named even where chance could have picked it;
 * and where leaves are counts, which wander in their small ways, only what explains a part of it. */
static bool acceptable(const struct search *s, const struct attribute_cell *c, double change)
{
	double own = 0;

	if (c->score > SIGNIFICANT && !(s->table->counts && s->certain))
		return true;
	if (!s->certain || c->score == -INFINITY)
		return false;
	for (uint32_t k = 0; k < c->n; k++) {
		uint32_t i = s->found.members.v[c->first + k];

		own += s->leaves[i].explained ? 0 : s->sign * (s->table->observed[i] - s->table->expected[i]);
	}
	return own > change * (c->score > SIGNIFICANT ? SHARE_LEAST : SHARE_MOST);
}

static void rate_cell(const struct search *s, struct attribute_cell *c)
{
	struct effect effect = {};

	c->score = score(s, c, &effect);
	c->purity = effect.rate;
}

static struct attribute_cell *best_cell(struct search *s, double change)
{
	struct attribute_cell *best = s->found.cells.n ? &s->found.cells.v[0] : NULL;

	for (size_t i = 1; i < s->found.cells.n; i++)
		if (preference(&s->found.cells.v[i]) > preference(best))
			best = &s->found.cells.v[i];
	return best && acceptable(s, best, change) ? best : NULL;
}

static int search_greedily(struct search *s, size_t most, struct attribute_findings *ret)
{
	double change = forward_change(s);
	struct attribute_cell *best;
	struct effect effect = {};

	for (size_t i = 0; i < s->found.cells.n; i++)
		rate_cell(s, &s->found.cells.v[i]);
	while (ret->elements.n < most && (best = best_cell(s, change))) {
		struct element element;

		score(s, best, &effect);
		describe(s, best, &effect, change, &element);
		if (VEC_PUSH(ret->elements, element) < 0)
			return -ENOMEM;
		ret->explained += element.share;
		set_aside(s, best);
		VEC_EACH(c, s->found.cells)
			if (c->score > -INFINITY && touched(s, c))
				rate_cell(s, c);
	}
	return 0;
}

static void sum_up(const struct search *s, struct attribute_findings *ret)
{
	const struct leaf_table *t = s->table;
	size_t left = 0, moved = 0;

	for (size_t i = 0; i < t->n; i++) {
		ret->observed += t->observed[i];
		ret->expected += t->expected[i];
		ret->exposure += t->exposure ? t->exposure[i] : 0;
	}
	for (size_t k = 0; k < s->n_moved; k++) {
		const struct leaf *leaf = &s->leaves[s->moved[k]];

		left += !leaf->explained;
		moved += !leaf->explained && leaf->forward && leaf->r * leaf->r > 2 * log((double)s->n_moved + 1) * leaf->s * leaf->s;
	}
	ret->moved_outside = left ? (double)moved / (double)left : 0;
	ret->noise = s->noise;
	ret->up = s->sign > 0;
	ret->elements_tried = s->found.tried;
	ret->changed = ret->elements.n || moved;
}

static void search_free(struct search *s)
{
	FREE_ALL(s->leaves, s->moved, s->gists);
	cells_free(&s->found);
}

int attributes_search(const struct leaf_table *t, const struct attribute_options *o, struct attribute_findings *ret)
{
	_cleanup_(search_free) struct search s = {.table = t};
	struct attribute_findings found = {};
	int e;

	if (!t->n || !t->attributes || t->attributes > ATTRIBUTES_MAX)
		return -EINVAL;
	s.leaves = calloc(t->n, sizeof(*s.leaves));
	s.moved = calloc(t->n, sizeof(*s.moved));
	s.gists = calloc(t->n, sizeof(*s.gists));
	if (!s.leaves || !s.moved || !s.gists)
		return -ENOMEM;
	s.sign = sign_of_change(t, o->direction);
	e = weigh_leaves(&s);
	e = e ?: cells_make(&s.found, t, s.moved, s.n_moved, s.gists, o->depth);
	e = e ?: search_greedily(&s, o->most ? o->most : MOST_DEFAULT, &found);
	if (e < 0) {
		attribute_findings_free(&found);
		return e;
	}
	sum_up(&s, &found);
	*ret = found;
	return 0;
}

void attribute_findings_free(struct attribute_findings *f)
{
	VEC_FREE(f->elements);
}
