#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/chunk-layout.h"
#include "store/chunk-parts.h"
#include "store/chunk.h"
#include "store/entropy.h"
#include "store/predictor.h"

/* Gaps to places: which of the base's ticks. False on damage. */
static bool decode_places(struct token_reader *t, size_t n, size_t n_base, bool sparse, const uint32_t *base,
			  uint32_t shift, uint32_t *ticks)
{
	const struct token_model *const *models = &t->models[gap_model(n, n_base, sparse)];
	struct token_state at = t->at;
	uint64_t next = 0, gap = 0;

	for (size_t i = 0; i < n; i++) {
		gap = token_number(&at, models[gap > 0], EXACT_GAPS);
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

/* The next growth's code: what was to be expected, and how far from that it lies. */
static inline int64_t read_code(struct token_state *at, const struct token_reader *t, const struct predictor *p, bool sparse)
{
	uint64_t u = token_number(at, t->models[sparse ? p->n > 0 : predictor_model(p)], EXACT_DISTANCES);

	return predicted(p) + unfold_sign(u);
}

/* Where it is wanted: for who uses the series as a partner, and as a value. False for what is no code. */
static bool keep_code(const struct chunk *c, const struct column_series *s, size_t i, int64_t code, int64_t *values, size_t *largest)
{
	if (code < 0 || code >= c->scale.n)
		return false;
	if (s->codes)
		s->codes[i] = (uint16_t)code;
	if (values) {
		values[i] = c->scale.value[code];
		if (values[i] > values[*largest])
			*largest = i;
	}
	return true;
}

static bool decode_rounded(const struct chunk *c, struct token_reader *t, const struct column_series *s,
			   bool sparse, int64_t *values)
{
	struct token_state at = t->at;
	struct predictor p = {};
	size_t largest = 0;

	for (size_t i = 0; i < s->n; i++) {
		int64_t code = read_code(&at, t, &p, sparse);

		if (!keep_code(c, s, i, code, values, &largest))
			return false;
		predictor_learn(&p, (int32_t)code);
	}
	if (values)
		values[largest] += s->rest;
	t->at = at;
	return true;
}

/* Beside a partner that is decoded already. `ticks` are the series' own, absolute as the partner's. */
static bool decode_pair(const struct chunk *c, struct token_reader *t, const struct column_series *s, int32_t ratio, bool sparse,
			int64_t *values)
{
	struct partner partner = {s->partner->ticks, s->partner->codes, s->partner->n, 0};
	struct pair_predictor p = pair_begin(ratio);
	struct token_state at = t->at;
	size_t largest = 0;

	for (size_t i = 0; i < s->n; i++) {
		int32_t beside = partner_code(&partner, s->ticks[i]);
		struct expected e = pair_expect(&p, &c->scale, beside);
		int64_t code = e.code + unfold_sign(token_number(&at, t->models[sparse ? p.own.n > 0 : e.model], EXACT_DISTANCES));

		if (!keep_code(c, s, i, code, values, &largest))
			return false;
		pair_learn(&p, &c->scale, beside, &e, (int32_t)code);
	}
	if (values)
		values[largest] += s->rest;
	t->at = at;
	return true;
}

static bool decode_exact(struct token_reader *t, const struct column_series *s, bool gauge, bool sparse,
			 int64_t *values)
{
	struct token_state at = t->at;
	struct predictor p = {};
	uint64_t level = 0;

	for (size_t i = 0; i < s->n; i++) {
		int64_t code = read_code(&at, t, &p, sparse);
		uint64_t u;

		if (code < 0 || code >= EXACT_CODES)
			return false;
		predictor_learn(&p, (int32_t)code);
		u = exact_value((unsigned)code, token_raw(&at, exact_bits((unsigned)code)));
		level = (gauge ? level : 0) + (uint64_t)unfold_sign(u);
		if (values)
			values[i] = (int64_t)level;
		if (gauge && i == 0)
			p = predictor_of_changes;
	}
	t->at = at;
	return true;
}

static void rescale(const struct word *word, int64_t *values, size_t n)
{
	if (word->numerator == word->denominator)
		return;
	for (size_t i = 0; i < n; i++)
		values[i] = (int64_t)((__int128)values[i] * word->numerator / word->denominator);
}

/* Room for what is not asked for, and where it is free. */
struct scratch {
	uint32_t *ticks;
	uint16_t *codes;
};

static bool decode_ticks(struct chunk *c, struct chunk_column *column, struct column_series *s,
			 struct token_reader *gaps, struct scratch *scratch)
{
	const struct member *m = &c->members[s->member];
	const uint32_t *base = s->of ? s->of->ticks : m->active;
	size_t n_base = s->of ? s->of->n : m->n_active;

	if (s->wanted)
		s->ticks = chunk_target(c, column, s)->tick + s->at;
	else if (s->needed) {
		s->ticks = scratch->ticks;
		scratch->ticks += s->n;
	}
	if (s->n > n_base)
		return false;
	if (s->n < n_base)
		return decode_places(gaps, s->n, n_base, column->n_values < SPARSE_TOKENS, base, 0,
				     s->needed ? s->ticks : NULL);
	if (s->needed)
		memcpy(s->ticks, base, s->n * sizeof(*base));
	return true;
}

static int open_column(struct chunk_column *column, struct token_reader *gaps, struct token_reader *values)
{
	struct reader tables = column->gap_tables, bytes = column->gap_bytes;
	int r = tokens_open(gaps, &tables, &bytes);

	if (r < 0 || !(column->wanted || column->valued))
		return r;
	tables = column->value_tables;
	bytes = column->value_bytes;
	return tokens_open(values, &tables, &bytes);
}

static bool decode_series(struct chunk *c, struct chunk_column *column, struct column_series *s, struct token_reader *t,
			  int64_t *values, struct scratch *scratch)
{
	int feature = c->kinds[column->kind].words[column->feature].feature;
	bool sparse = column->n_values < SPARSE_TOKENS;
	size_t n;

	if (s->exact)
		return decode_exact(t, s, feature >= 0 && features_of(column->kind, &n)[feature].kind != COUNTER, sparse, values);
	if (column->valued && s->needed) {
		s->codes = scratch->codes;
		scratch->codes += s->n;
	}
	if (s->partner && s->partner->codes)
		return decode_pair(c, t, s, column->ratio, sparse, values);
	return decode_rounded(c, t, s, sparse, values);
}

static int decode_column(struct chunk *c, struct chunk_column *column, struct token_reader *gaps,
			 struct token_reader *values, struct scratch *scratch)
{
	const struct word *word = &c->kinds[column->kind].words[column->feature];
	bool valued = column->wanted || column->valued, good = true;
	size_t until = needed_until(column);
	int r = open_column(column, gaps, values);

	if (r < 0)
		return r;
	for (size_t i = 0; good && i < until; i++) {
		struct column_series *s = &column->series[i];
		int64_t *into = s->wanted ? chunk_target(c, column, s)->value + s->at : NULL;

		good = decode_ticks(c, column, s, gaps, scratch);
		if (!good || !valued)
			continue;
		good = decode_series(c, column, s, values, into, scratch);
		if (into)
			rescale(word, into, s->n);
	}
	return good && !gaps->at.bad && !(valued && values->at.bad) ? 0 : -EBADMSG;
}

static int decode_activities(struct chunk *c, enum entity_kind kind, struct token_reader *gaps,
			     uint32_t *room)
{
	struct kind_part *part = &c->kinds[kind];
	struct reader tables = part->tables, bytes = part->bytes;
	int r = tokens_open(gaps, &tables, &bytes);

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
	return r < 0 ? r : gaps->at.bad ? -EBADMSG : 0;
}

static size_t count_active(const struct chunk *c, enum entity_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_members; i++)
		n += c->members[i].kind == kind ? c->members[i].n_active : 0;
	return n;
}

static int ensure_activities(struct chunk *c, enum entity_kind kind, struct token_reader *gaps)
{
	struct kind_part *part = &c->kinds[kind];
	int r;

	if (part->room && part->first_tick == c->first_tick)
		return 0;
	free(part->room);
	part->room = malloc((count_active(c, kind) + 1) * sizeof(*part->room));
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
	for (size_t i = 0; i < part->n_columns; i++)
		if (part->columns[i].needed)
			return true;
	return false;
}

static int decode_kind(struct chunk *c, enum entity_kind kind, struct token_reader *gaps,
		       struct token_reader *values, struct scratch *scratch)
{
	struct kind_part *part = &c->kinds[kind];
	int r;

	if (!any_needed(part))
		return 0;
	r = ensure_activities(c, kind, gaps);
	for (size_t i = 0; r == 0 && i < part->n_columns; i++)
		if (part->columns[i].needed)
			r = decode_column(c, &part->columns[i], gaps, values, scratch);
	return r;
}

int chunk_decode(struct chunk *c)
{
	struct token_reader gaps = {}, values = {};
	_cleanup_free_ uint32_t *ticks = malloc((c->n_scratch + 1) * sizeof(*ticks));
	_cleanup_free_ uint16_t *codes = malloc((c->n_codes + 1) * sizeof(*codes));
	struct scratch scratch = {ticks, codes};
	int r = ticks && codes ? 0 : -ENOMEM;

	for (enum entity_kind kind = ENTITY_PROCESS; r == 0 && kind < ENTITY_KIND_END; kind++)
		r = decode_kind(c, kind, &gaps, &values, &scratch);
	token_reader_free(&gaps);
	token_reader_free(&values);
	return r;
}
