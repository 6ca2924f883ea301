#include "machine/chunk/chunk-writer.h"

#define SERIES_TRIED 24 /* of a column, to find its partner */
#define VALUES_TRIED 40 /* of each */
#define SERIES_FEW   6	/* ... of which these sort out most of the columns: all of the work goes with their square */
#define FINALISTS    4
#define LEAST_GAIN   2	/* percent: for less no reader is made to decode another column */

struct finalist {
	size_t rank;
	uint64_t cost;
};

static size_t values_tried(const struct series *s)
{
	return s->n < VALUES_TRIED ? s->n : VALUES_TRIED;
}

/* About the bits that the distances of a series' beginning take. */
static uint64_t cost_of(const struct chunk_writer *w, const struct series *s, const uint16_t *codes, struct partner partner, int32_t ratio)
{
	struct pair_predictor p = pair_predictor_begin(ratio);
	uint64_t bits = 0;

	for (size_t i = 0; i < values_tried(s); i++) {
		int32_t beside = partner_code(&partner, s->tick[i]);
		struct expected e = pair_predictor_expect(&p, &w->scale, beside);

		bits += 64 -
			(unsigned)__builtin_clzll(2 * precision_fold_sign((int64_t)codes[i] - e.code) + 1);
		pair_predictor_learn(&p, &w->scale, beside, &e, codes[i]);
	}
	return bits;
}

/* The normal difference of two columns' levels, of the series that are tried. */
static int32_t usual_ratio(const struct chunk_writer *w, const struct written_column *column, int partner, const size_t *tried, size_t n)
{
	int64_t sum = 0, values = 0;

	for (size_t i = 0; i < n; i++) {
		const struct series *s = &w->d->subjects.v[tried[i]]->series[column->feature];
		const uint16_t *codes = w->activities[tried[i]].rounded[column->feature].codes;
		struct partner beside = chunk_partner(w, tried[i], partner);

		for (size_t k = 0; k < values_tried(s); k++) {
			int32_t code = partner_code(&beside, s->tick[k]);

			if (!code)
				continue;
			sum += scale_level(&w->scale, codes[k]) - scale_level(&w->scale, code);
			values++;
		}
	}
	return values ? (int32_t)(sum / values) : 0;
}

static uint64_t cost_with(const struct chunk_writer *w, const struct written_column *column, int partner, int32_t ratio, const size_t *tried, size_t n)
{
	uint64_t cost = 0;

	for (size_t i = 0; i < n; i++)
		cost += cost_of(w, &w->d->subjects.v[tried[i]]->series[column->feature],
				w->activities[tried[i]].rounded[column->feature].codes, chunk_partner(w, tried[i], partner), ratio);
	return cost;
}

/* Some of the column's series, from all over it. */
static size_t choose_tried(const struct chunk_writer *w, enum entity_kind kind, const struct written_column *column, size_t tried[SERIES_TRIED])
{
	size_t step = 1 + column->n_series / SERIES_TRIED, at = 0, n = 0;

	for (size_t i = 0; i < w->d->subjects.n && n < SERIES_TRIED; i++) {
		const struct subject *s = w->d->subjects.v[i];

		if (s->info.kind != kind || !s->series[column->feature].n || at++ % step || !w->activities[i].rounded[column->feature].codes)
			continue;
		tried[n++] = i;
	}
	return n;
}

static bool may_be_partner(const struct written_column *before, const struct feature *features)
{
	return before->depth < PARTNERS_MAX && before->n_values >= SPARSE_TOKENS && features[before->feature].kind == COUNTER;
}

/* The columns before `rank` that promise most, by a part of the series, the best first. */
static size_t choose_finalists(const struct chunk_writer *w, const struct feature *features, const struct written_column *columns, size_t rank,
			       const size_t *tried, size_t n_tried, struct finalist finalists[FINALISTS])
{
	size_t n = 0;

	for (size_t i = 0; i < rank; i++) {
		struct finalist f = {.rank = i};
		size_t at;

		if (!may_be_partner(&columns[i], features))
			continue;
		f.cost = cost_with(w, &columns[rank], (int)columns[i].feature,
				   usual_ratio(w, &columns[rank], (int)columns[i].feature, tried, n_tried), tried, n_tried);
		if (n == FINALISTS && f.cost >= finalists[n - 1].cost)
			continue;
		n += n < FINALISTS;
		for (at = n - 1; at && finalists[at - 1].cost > f.cost; at--)
			finalists[at] = finalists[at - 1];
		finalists[at] = f;
	}
	return n;
}

/* A partner may have one itself, but not too many behind it: who reads one column reads all of them. */
void chunk_choose_partner(const struct chunk_writer *w, enum entity_kind kind, struct written_column *columns,
			  size_t rank)
{
	struct written_column *own = &columns[rank];
	struct finalist finalists[FINALISTS];
	size_t n_features, tried[SERIES_TRIED], few[SERIES_FEW], n, n_few = 0, n_finalists;
	const struct feature *features = features_of(kind, &n_features);
	uint64_t best;

	own->partner = -1;
	if (own->n_values < SPARSE_TOKENS || features[own->feature].kind != COUNTER)
		return;
	n = choose_tried(w, kind, own, tried);
	for (size_t i = 0; i < n; i += SERIES_TRIED / SERIES_FEW)
		few[n_few++] = tried[i];
	n_finalists = choose_finalists(w, features, columns, rank, few, n_few, finalists);
	best = cost_with(w, own, -1, 0, tried, n) * (100 - LEAST_GAIN) / 100;
	for (size_t i = 0; i < n_finalists; i++) {
		const struct written_column *before = &columns[finalists[i].rank];
		int32_t ratio = usual_ratio(w, own, (int)before->feature, tried, n);
		uint64_t cost = cost_with(w, own, (int)before->feature, ratio, tried, n);

		if (cost >= best)
			continue;
		best = cost;
		own->partner = (int)before->feature;
		own->ratio = ratio;
		own->depth = before->depth + 1;
	}
}
