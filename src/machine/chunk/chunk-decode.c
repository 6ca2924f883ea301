#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/cleanup.h"
#include "machine/chunk/chunk-layout.h"
#include "machine/chunk/chunk-parts.h"
#include "machine/chunk/chunk.h"
#include "machine/chunk/entropy.h"
#include "machine/chunk/predictor.h"

/* Gaps to places: which of the base's ticks. False on damage. */
static bool decode_places(struct entropy_reader *t, size_t n, size_t n_base, bool sparse,
			  const uint32_t *base, uint32_t shift, uint32_t *ticks)
{
	const struct entropy_model *const *models = &t->models[chunk_gap_model(n, n_base, sparse)];
	struct entropy_state at = t->at;
	uint64_t next = 0, gap = 0;

	for (size_t i = 0; i < n; i++) {
		gap = entropy_number(&at, models[gap > 0], EXACT_GAPS);
		if (gap >= n_base - next)
			return false;
		next += gap;
		if (ticks)
			ticks[i] = base ? base[next] : shift + (uint32_t)next;
		next++;
	}
	t->at = at;
	return true;
}

/* What decoding a chunk has next to its directory. */
struct decoder {
	struct chunk *chunk;
	struct entropy_reader gaps, values;
	const struct entropy_model *by_context[CONTEXTS]; /* of the column's values */
	/* room for what is not asked for, and where it is free */
	uint32_t *ticks;
	uint16_t *codes;
	/* of the series at hand, as many as there are ticks: its codes; its partner's in the same ticks, and in all ticks */
	uint16_t *own, *beside, *in_ticks;
};

/* How far from what was to be expected the next code lies. */
static inline int64_t read_distance(struct entropy_state *at, const struct decoder *d, unsigned context)
{
	return precision_unfold_sign(entropy_number(at, d->by_context[context], EXACT_DISTANCES));
}

/* False for what is not code. */
static bool decode_alone(struct decoder *d, size_t n, uint16_t *codes)
{
	struct entropy_state at = d->values.at;
	int64_t end = d->chunk->scale.n;
	struct predictor p = {};

	for (size_t i = 0; i < n; i++) {
		int64_t code = predictor_expect(&p) + read_distance(&at, d, predictor_context(&p));

		if (code < 0 || code >= end)
			return false;
		codes[i] = (uint16_t)code;
		predictor_learn(&p, (int32_t)code);
	}
	d->values.at = at;
	return true;
}

static bool decode_beside(struct decoder *d, size_t n, const uint16_t *beside, int32_t ratio, uint16_t *codes)
{
	const struct scale *scale = &d->chunk->scale;
	struct pair_predictor p = pair_predictor_begin(ratio);
	struct entropy_state at = d->values.at;

	for (size_t i = 0; i < n; i++) {
		struct expected e = pair_predictor_expect(&p, scale, beside[i]);
		int64_t code = e.code + read_distance(&at, d, e.context);

		if (code < 0 || code >= scale->n)
			return false;
		codes[i] = (uint16_t)code;
		pair_predictor_learn(&p, scale, beside[i], &e, (int32_t)code);
	}
	d->values.at = at;
	return true;
}

/* The partner's codes in the ticks of a series: spread over all ticks, unless they are many and the series' few. */
static const uint16_t *find_beside(struct decoder *d, const struct column_series *s)
{
	const struct column_series *partner = s->partner;
	uint32_t first = d->chunk->first_tick;
	struct partner walk = {partner->ticks, partner->codes, partner->n, 0};

	if (s->of == partner && s->n == partner->n)
		return partner->codes;
	if (partner->n / 4 > s->n) {
		for (size_t i = 0; i < s->n; i++)
			d->beside[i] = (uint16_t)partner_code(&walk, s->ticks[i]);
		return d->beside;
	}
	for (size_t i = 0; i < partner->n; i++)
		d->in_ticks[partner->ticks[i] - first] = partner->codes[i];
	for (size_t i = 0; i < s->n; i++)
		d->beside[i] = d->in_ticks[s->ticks[i] - first];
	for (size_t i = 0; i < partner->n; i++)
		d->in_ticks[partner->ticks[i] - first] = 0;
	return d->beside;
}

/* What rounding left over belongs to the largest. */
static void put_values(const struct chunk *c, const struct column_series *s, const uint16_t *codes, int64_t *values)
{
	size_t largest = 0;

	for (size_t i = 0; i < s->n; i++) {
		values[i] = c->scale.value[codes[i]];
		if (codes[i] > codes[largest])
			largest = i;
	}
	values[largest] += s->rest;
}

static bool decode_rounded(struct decoder *d, const struct chunk_column *column, const struct column_series *s, int64_t *values)
{
	uint16_t *codes = s->codes ? s->codes : d->own;
	bool good;

	if (s->partner && s->partner->codes)
		good = decode_beside(d, s->n, find_beside(d, s), column->ratio, codes);
	else
		good = decode_alone(d, s->n, codes);
	if (good && values)
		put_values(d->chunk, s, codes, values);
	return good;
}

static bool decode_exact(struct decoder *d, const struct column_series *s, bool gauge, int64_t *values)
{
	struct entropy_state at = d->values.at;
	struct predictor p = {};
	uint64_t level = 0;

	for (size_t i = 0; i < s->n; i++) {
		int64_t code = predictor_expect(&p) + read_distance(&at, d, predictor_context(&p));
		uint64_t u;

		if (code < 0 || code >= EXACT_CODES)
			return false;
		predictor_learn(&p, (int32_t)code);
		u = precision_exact_value((unsigned)code,
					  entropy_raw(&at, precision_exact_bits((unsigned)code)));
		level = (gauge ? level : 0) + (uint64_t)precision_unfold_sign(u);
		if (values)
			values[i] = (int64_t)level;
		if (gauge && i == 0)
			p = predictor_of_changes;
	}
	d->values.at = at;
	return true;
}

static void rescale(const struct word *word, int64_t *values, size_t n)
{
	if (word->numerator == word->denominator)
		return;
	for (size_t i = 0; i < n; i++)
		values[i] = (int64_t)((__int128)values[i] * word->numerator / word->denominator);
}

static bool decode_ticks(struct decoder *d, struct chunk_column *column, struct column_series *s)
{
	const struct member *m = &d->chunk->members[s->member];
	const uint32_t *base = s->of ? s->of->ticks : m->active;
	size_t n_base = s->of ? s->of->n : m->n_active;

	if (s->wanted) {
		s->ticks = chunk_target(d->chunk, column, s)->tick + s->at;
	} else if (s->needed) {
		s->ticks = d->ticks;
		d->ticks += s->n;
	}
	if (s->n > n_base)
		return false;
	if (s->n < n_base)
		return decode_places(&d->gaps, s->n, n_base, column->n_values < SPARSE_TOKENS, base, 0, s->needed ? s->ticks : NULL);
	if (s->needed)
		memcpy(s->ticks, base, s->n * sizeof(*base));
	return true;
}

static bool decode_values(struct decoder *d, struct chunk_column *column, struct column_series *s)
{
	const struct word *word = &d->chunk->kinds[column->kind].words[column->feature];
	int64_t *values = s->wanted ? chunk_target(d->chunk, column, s)->value + s->at : NULL;
	bool good;
	size_t n;

	if (!s->exact && column->valued && s->needed) {
		s->codes = d->codes;
		d->codes += s->n;
	}
	if (s->exact)
		good = decode_exact(d, s, word->feature >= 0 && features_of(column->kind, &n)[word->feature].kind != COUNTER, values);
	else
		good = decode_rounded(d, column, s, values);
	if (good && values)
		rescale(word, values, s->n);
	return good;
}

/* The models by what is known before a value: sparse columns have one for a series' first, and one for all others. */
static void choose_models(struct decoder *d, const struct chunk_column *column)
{
	bool sparse = column->n_values < SPARSE_TOKENS;

	for (unsigned i = 0; i < CONTEXTS; i++)
		d->by_context[i] = d->values.models[sparse ? i < CONTEXT_FIRST : context_model[i]];
}

static int open_column(struct decoder *d, const struct chunk_column *column)
{
	struct reader tables = column->gap_tables, bytes = column->gap_bytes;
	bool relative = d->chunk->version >= CHUNK_POINTS;
	int r = entropy_open(&d->gaps, &tables, &bytes, relative);

	if (r < 0 || !(column->wanted || column->valued))
		return r;
	tables = column->value_tables;
	bytes = column->value_bytes;
	r = entropy_open(&d->values, &tables, &bytes, relative);
	choose_models(d, column);
	return r;
}

/* From one point to the next, at which values begin; of the first block they begin at once. */
static bool decode_block(struct decoder *d, struct chunk_column *column, size_t begin, size_t end, const struct entropy_put_point *point)
{
	size_t until = chunk_needed_until(column, begin, end);

	for (size_t i = begin; i < end; i++)
		if (!decode_ticks(d, column, &column->series[i]))
			return false;
	if (!(column->wanted || column->valued) || until == begin)
		return true;
	if (begin && !entropy_seek(&d->values, point))
		return false;
	for (size_t i = begin; i < until; i++)
		if (!decode_values(d, column, &column->series[i]))
			return false;
	return !entropy_overran(&d->values.at);
}

static int decode_column(struct decoder *d, struct chunk_column *column)
{
	size_t until = chunk_needed_until(column, 0, column->n_series);
	struct reader points = column->points;
	struct entropy_put_point point = {};
	bool good = true;
	int r = open_column(d, column);

	for (size_t begin = 0, end; r == 0 && good && begin < until; begin = end) {
		end = chunk_block_end(column, begin);
		good = (!begin || entropy_point_read(&points, &point)) &&
		       decode_block(d, column, begin, end < until ? end : until, &point);
	}
	return r < 0 ? r : good && !entropy_overran(&d->gaps.at) ? 0 : -EBADMSG;
}

static int decode_activities(struct chunk *c, enum entity_kind kind, struct entropy_reader *gaps,
			     uint32_t *room)
{
	struct kind_part *part = &c->kinds[kind];
	struct reader tables = part->tables, bytes = part->bytes;
	int r = entropy_open(gaps, &tables, &bytes, c->version >= CHUNK_POINTS);

	for (size_t i = 0; r == 0 && i < c->n_members; i++) {
		struct member *m = &c->members[i];

		if (m->kind != kind)
			continue;
		m->active = room;
		room += m->n_active;
		if (m->n_active < c->n_ticks) {
			if (!decode_places(gaps, m->n_active, c->n_ticks, false, NULL, c->first_tick,
					   m->active))
				return -EBADMSG;
			continue;
		}
		for (uint32_t t = 0; t < m->n_active; t++)
			m->active[t] = c->first_tick + t;
	}
	return r < 0 ? r : entropy_overran(&gaps->at) ? -EBADMSG : 0;
}

static size_t count_active(const struct chunk *c, enum entity_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_members; i++)
		n += c->members[i].kind == kind ? c->members[i].n_active : 0;
	return n;
}

static int ensure_activities(struct chunk *c, enum entity_kind kind, struct entropy_reader *gaps)
{
	struct kind_part *part = &c->kinds[kind];
	size_t n;
	int r;

	if (part->room && part->first_tick == c->first_tick)
		return 0;
	free(part->room);
	part->room = NULL;
	n = count_active(c, kind);
	if (memory_budget_take(c->into->budget, n, sizeof(*part->room)) == 0)
		part->room = malloc((n + 1) * sizeof(*part->room));
	if (!part->room)
		return -ENOMEM;
	part->first_tick = c->first_tick;
	r = decode_activities(c, kind, gaps, part->room);
	if (r < 0) {
		free(part->room);
		part->room = NULL;
	}
	return r;
}

static bool any_needed(const struct kind_part *part)
{
	return ANY_WHERE(i, part->n_columns, part->columns[i].needed);
}

static int decode_kind(struct decoder *d, enum entity_kind kind)
{
	struct kind_part *part = &d->chunk->kinds[kind];
	int r;

	if (!any_needed(part))
		return 0;
	r = ensure_activities(d->chunk, kind, &d->gaps);
	for (size_t i = 0; r == 0 && i < part->n_columns; i++)
		if (part->columns[i].needed)
			r = decode_column(d, &part->columns[i]);
	return r;
}

/* With room for what is decoded and not kept. */
static int decode_all(struct chunk *c)
{
	_cleanup_free_ uint32_t *ticks = malloc((c->n_scratch + 1) * sizeof(*ticks));
	_cleanup_free_ uint16_t *codes = malloc((c->n_codes + 1) * sizeof(*codes));
	_cleanup_free_ uint16_t *of_series = calloc(3 * (c->n_ticks + 1), sizeof(*of_series));
	struct decoder d = {.chunk = c, .ticks = ticks, .codes = codes};
	int r = ticks && codes && of_series ? 0 : -ENOMEM;

	if (r == 0) {
		d.own = of_series;
		d.beside = of_series + c->n_ticks;
		d.in_ticks = of_series + 2 * c->n_ticks;
	}
	for (enum entity_kind kind = ENTITY_PROCESS; r == 0 && kind < ENTITY_KIND_END; kind++)
		r = decode_kind(&d, kind);
	entropy_reader_free(&d.gaps);
	entropy_reader_free(&d.values);
	return r;
}

int chunk_decode(struct chunk *c)
{
	uint64_t bytes = (uint64_t)c->n_scratch * sizeof(uint32_t) + (c->n_codes + 3 * (uint64_t)c->n_ticks) * sizeof(uint16_t);
	int r = memory_budget_take(c->into->budget, bytes, 1);

	if (r < 0)
		return r;
	r = decode_all(c);
	memory_budget_give(c->into->budget, bytes, 1);
	return r;
}
