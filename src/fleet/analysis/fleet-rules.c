#include "fleet/analysis/fleet-rules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/cleanup.h"

#define TERM_MAX  8  /* comparisons that hold together */
#define TERMS_MAX 64 /* of a rule */

static const enum threshold_statistic statistics[STATISTIC_COUNT] = {
	[STATISTIC_NONE] = OF_ANY,	 [STATISTIC_ANY] = OF_ANY,	   [STATISTIC_EVERY] = OF_EVERY,     [STATISTIC_AVERAGE] = OF_AVERAGE,
	[STATISTIC_MEDIAN] = OF_MEDIAN,	 [STATISTIC_MINIMUM] = OF_MINIMUM, [STATISTIC_MAXIMUM] = OF_MAXIMUM, [STATISTIC_QUANTILE] = OF_QUANTILE,
};
static const enum threshold_operator operators[] = {
	[OPERATOR_GREATER] = IS_GREATER, [OPERATOR_GREATER_EQUAL] = IS_GREATER_EQUAL, [OPERATOR_LESS] = IS_LESS,
	[OPERATOR_LESS_EQUAL] = IS_LESS_EQUAL, [OPERATOR_EQUAL] = IS_EQUAL, [OPERATOR_UNEQUAL] = IS_UNEQUAL,
};
static const enum fleet_view_kind views[] = {
	[VIEW_NONE] = FLEET_DETAIL_VIEW, [VIEW_DETAIL] = FLEET_DETAIL_VIEW, [VIEW_SERVER] = FLEET_SERVER_VIEW, [VIEW_TIME] = FLEET_TIME_VIEW,
};

/* Comparisons that must hold together; a rule holds where one of its terms does. */
struct term {
	const struct comparison *v[TERM_MAX];
	bool negated[TERM_MAX];
	size_t n;
};

struct terms {
	VEC(struct term) list;
};

static int join(struct terms *a, const struct terms *b)
{
	struct terms both = {};
	int r = 0;

	for (size_t i = 0; i < a->list.n && r == 0; i++)
		for (size_t k = 0; k < b->list.n && r == 0; k++) {
			struct term t = a->list.v[i];

			r = t.n + b->list.v[k].n > TERM_MAX || both.list.n == TERMS_MAX ? -E2BIG : 0;
			for (size_t j = 0; r == 0 && j < b->list.v[k].n; j++, t.n++) {
				t.v[t.n] = b->list.v[k].v[j];
				t.negated[t.n] = b->list.v[k].negated[j];
			}
			r = r ?: VEC_PUSH(both.list, t);
		}
	VEC_FREE(a->list);
	a->list.v = both.list.v;
	a->list.n = both.list.n;
	a->list.allocated = both.list.allocated;
	return r;
}

/* A condition as a disjunction of terms. "not" moves down to the comparisons, where it changes the operator: a value that is missing breaks
 * neither a comparison nor its opposite. */
static int terms_of(const struct condition *c, bool negated, struct terms *ret)
{
	struct terms right = {};
	int r;

	if (c->kind == CONDITION_COMPARISON)
		return VEC_PUSH(ret->list, (struct term){{&c->comparison}, {negated}, 1});
	if (c->kind == CONDITION_NOT)
		return terms_of(c->left, !negated, ret);
	r = terms_of(c->left, negated, ret);
	r = r ?: terms_of(c->right, negated, &right);
	if (r == 0 && (c->kind == CONDITION_AND) != negated)
		r = join(ret, &right);
	else
		for (size_t i = 0; i < right.list.n && r == 0; i++)
			r = ret->list.n == TERMS_MAX ? -E2BIG : VEC_PUSH(ret->list, right.list.v[i]);
	VEC_FREE(right.list);
	return r;
}

static const char *unfit(const struct rule *r, const struct terms *terms)
{
	bool alone = r->when->kind == CONDITION_COMPARISON;

	if (r->spikes || r->until)
		return "spikes and 'until' are for live rules, not for a loaded set";
	for (size_t i = 0; i < terms->list.n; i++)
		for (size_t k = 0; k < terms->list.v[i].n; k++)
			if (terms->list.v[i].v[k]->smoothing != SMOOTHING_NONE)
				return "smoothing is for live rules, not for a loaded set";
	if (r->up && (!alone || statistics[r->when->comparison.statistic] != OF_ANY || views[r->when->comparison.view] != FLEET_DETAIL_VIEW))
		return "'for SPAN' needs each value of one comparison: 'when any COUNTER in detail view > 10 for 5min report'";
	return NULL;
}

static enum threshold_statistic opposite(enum threshold_statistic s, enum fleet_view_kind view)
{
	if (view == FLEET_DETAIL_VIEW) /* each value is compared by itself */
		return s == OF_EVERY ? OF_ANY : s;
	return s == OF_ANY ? OF_EVERY : s == OF_EVERY ? OF_ANY : s;
}

static int add(const struct rule *r, const struct comparison *c, bool negated, size_t others, bool alternative, const char *words, struct fleet_thresholds *ret)
{
	static const enum threshold_operator opposites[] = {[IS_GREATER] = IS_LESS_EQUAL, [IS_GREATER_EQUAL] = IS_LESS, [IS_LESS] = IS_GREATER_EQUAL,
							    [IS_LESS_EQUAL] = IS_GREATER, [IS_EQUAL] = IS_UNEQUAL, [IS_UNEQUAL] = IS_EQUAL};
	struct fleet_threshold t = {.view = views[c->view], .statistic = statistics[c->statistic], .quantile = c->quantile,
				    .z_score = c->z_score, .operator = operators[c->operator], .expected = c->value,
				    .percent_of = c->of != STATISTIC_NONE, .of = statistics[c->of], .lasting = r->up, .others = others, .alternative = alternative};

	if (negated) {
		t.operator = opposites[t.operator];
		t.statistic = opposite(t.statistic, t.view);
	}
	t.counter = strdup(c->quantity.name);
	t.words = strdup(words);
	if (t.counter && t.words && VEC_PUSH(ret->list, t) == 0)
		return 0;
	FREE_ALL(t.counter, t.words);
	return -ENOMEM;
}

/* How much a comparison says of a place: of each value more than of a server or moment, of these more than of everything. */
static int detail_of(const struct comparison *c)
{
	return views[c->view] != FLEET_DETAIL_VIEW ? 1 : statistics[c->statistic] == OF_ANY ? 2 : 0;
}

/* The one whose places are reported is first. */
static int add_term(const struct rule *r, const struct term *t, bool alternative, const char *words, struct fleet_thresholds *ret)
{
	size_t first = 0;
	int status;

	for (size_t i = 1; i < t->n; i++)
		if (detail_of(t->v[i]) > detail_of(t->v[first]))
			first = i;
	status = add(r, t->v[first], t->negated[first], t->n - 1, alternative, words, ret);
	for (size_t i = 0; i < t->n && status == 0; i++)
		if (i != first)
			status = add(r, t->v[i], t->negated[i], 0, false, words, ret);
	return status;
}

static int add_rule(const struct rule *r, struct fleet_thresholds *ret, const char **ret_why)
{
	struct terms terms = {};
	_cleanup_str_ struct str words = {};
	int status = terms_of(r->when, false, &terms);

	*ret_why = status == -E2BIG ? "too many comparisons: write several rules" : status == 0 ? unfit(r, &terms) : NULL;
	condition_write(r->when, &words);
	if (r->up)
		str_printf(&words, " for %.15g s", (double)r->up / 1e9);
	if (*ret_why || words.error)
		status = *ret_why ? -EINVAL : -ENOMEM;
	for (size_t i = 0; i < terms.list.n && status == 0; i++)
		status = add_term(r, &terms.list.v[i], i > 0, words.data, ret);
	VEC_FREE(terms.list);
	return status;
}

int fleet_thresholds_of(const struct rules *rules, const char *file, struct fleet_thresholds *ret, char **ret_error)
{
	for (size_t i = 0; i < rules->list.n; i++) {
		const char *why;
		int r = add_rule(&rules->list.v[i], ret, &why);

		if (r == -EINVAL && asprintf(ret_error, "%s:%u: %s", file, rules->list.v[i].line, why) < 0)
			*ret_error = NULL;
		if (r < 0)
			return r;
	}
	return 0;
}
