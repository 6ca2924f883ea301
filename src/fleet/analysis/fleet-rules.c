#include "fleet/analysis/fleet-rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"

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

static const char *unfit(const struct rule *r)
{
	if (r->when->kind != CONDITION_COMPARISON)
		return "for many servers each rule checks one comparison: write one rule for each";
	if (r->when->comparison.smoothing != SMOOTHING_NONE || r->spikes || r->until)
		return "smoothing, spikes and 'until' are for live rules, not for a loaded set";
	if (r->up && (statistics[r->when->comparison.statistic] != OF_ANY || views[r->when->comparison.view] != FLEET_DETAIL_VIEW))
		return "'for SPAN' needs each value: 'when any COUNTER in detail view > 10 for 5min report'";
	return NULL;
}

static int add(const struct rule *r, struct fleet_thresholds *ret)
{
	const struct comparison *c = &r->when->comparison;
	struct fleet_threshold t = {.view = views[c->view], .statistic = statistics[c->statistic], .quantile = c->quantile,
				    .z_score = c->z_score, .operator = operators[c->operator], .expected = c->value,
				    .percent_of = c->of != STATISTIC_NONE, .of = statistics[c->of], .lasting = r->up};
	_cleanup_str_ struct str words = {};

	condition_write(r->when, &words);
	if (r->up)
		str_printf(&words, " for %.15g s", (double)r->up / 1e9);
	t.counter = strdup(c->quantity.name);
	t.words = words.error || !words.data ? NULL : strdup(words.data);
	if (t.counter && t.words && VEC_PUSH(ret->list, t) == 0)
		return 0;
	free(t.counter);
	free(t.words);
	return -ENOMEM;
}

int fleet_thresholds_of(const struct rules *rules, const char *file, struct fleet_thresholds *ret, char **ret_error)
{
	for (size_t i = 0; i < rules->list.n; i++) {
		const struct rule *r = &rules->list.v[i];
		const char *why = unfit(r);

		if (why) {
			if (asprintf(ret_error, "%s:%u: %s", file, r->line, why) < 0)
				*ret_error = NULL;
			return -EINVAL;
		}
		if (add(r, ret) < 0)
			return -ENOMEM;
	}
	return 0;
}
