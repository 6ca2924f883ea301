#include "fleet/analysis/fleet-analysis.h"

#include <math.h>
#include <string.h>

extern const struct fleet_analysis fleet_within, fleet_between, fleet_deviation, fleet_alarm, fleet_correlation, fleet_explain, fleet_runs;

static const struct fleet_analysis *const fleet_analyses[] = {
	&fleet_deviation, &fleet_alarm, &fleet_within, &fleet_between, &fleet_correlation, &fleet_explain, &fleet_runs, NULL,
};

const struct fleet_analysis *fleet_analysis_find(const char *name)
{
	for (size_t i = 0; fleet_analyses[i]; i++)
		if (strcmp(fleet_analyses[i]->name, name) == 0)
			return fleet_analyses[i];
	return NULL;
}

struct fleet_question fleet_question_default(const struct fleet *f)
{
	const struct fleet_span all = {INT64_MIN, INT64_MAX};

	return (struct fleet_question){.fleet = f, .window = all, .usual = all, .quantile = 0.5, .threshold = NAN,
				       .server = -1, .counter = -1};
}

size_t fleet_pieces(const struct fleet *f, size_t counter, struct fleet_span span, struct piece *pieces)
{
	size_t n = 0;

	VEC_EACH(s, f->servers) {
		uint32_t first, rows = fleet_rows(s, span.from, span.to, &first);

		if (s->column[counter] && rows)
			pieces[n++] = (struct piece){s->column[counter] + first, rows};
	}
	return n;
}

double fleet_statistic_of(const struct fleet_question *q, const struct piece *pieces, size_t n, struct select_room *room)
{
	struct column_moments m;

	switch (q->statistic) {
	case FLEET_AVERAGE:
		column_moments_of(pieces, n, &m);
		return m.mean;
	case FLEET_QUANTILE:
		return columns_quantile(pieces, n, q->quantile, room);
	default:
		return columns_median(pieces, n, room);
	}
}
