#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "store/chunk-layout.h"
#include "store/chunk.h"
#include "store/entropy.h"
#include "store/precision.h"
#include "store/predictor.h"

#define META_LEVEL   6
#define SERIES_TRIED 24 /* of a column, to find its partner */
#define VALUES_TRIED 40 /* of each */
#define REST_SMALL   63 /* takes one byte */
#define LEAST_GAIN   2	/* percent: for less no reader is made to decode another column */

/* A series of growths, rounded. */
struct rounded {
	uint16_t *codes; /* NULL = it has to be kept exactly */
	int64_t rest;
};

/* One entity's series as sets of ticks, and rounded. */
struct activity {
	uint64_t *words; /* n_features + 1 bitmaps of n_words each; the last is the union */
	uint32_t *ticks; /* the union */
	size_t n;
	uint8_t base[FEATURES_MAX];
	struct rounded *rounded; /* of each feature */
};

struct writer {
	const struct dataset *d;
	struct scale scale;
	struct activity *activities; /* one a subject */
	size_t n_words;
	struct str meta, streams;
	struct token_writer gaps, values;
	VEC(uint32_t) places; /* of the series being written: indices into its base */
};

struct column {
	size_t feature, n_series, n_values;
	int partner;   /* feature of a column before it; -1 = none */
	int32_t ratio; /* usual difference of levels */
	unsigned depth; /* partners behind it */
};

/* --- which ticks --- */

static uint64_t *bitmap(const struct writer *w, const struct activity *a, size_t which)
{
	return a->words + which * w->n_words;
}

static bool within(const uint64_t *part, const uint64_t *whole, size_t n_words)
{
	for (size_t i = 0; i < n_words; i++)
		if (part[i] & ~whole[i])
			return false;
	return true;
}

static int list_ticks(const struct writer *w, struct activity *a, const uint64_t *words)
{
	a->n = 0;
	for (size_t i = 0; i < w->n_words; i++)
		a->n += (size_t)__builtin_popcountll(words[i]);
	a->ticks = calloc(a->n + 1, sizeof(*a->ticks));
	if (!a->ticks)
		return -ENOMEM;
	a->n = 0;
	for (size_t i = 0; i < w->n_words; i++)
		for (uint64_t left = words[i]; left; left &= left - 1)
			a->ticks[a->n++] = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(left);
	return 0;
}

static int find_activity(struct writer *w, const struct subject *s, struct activity *a)
{
	uint64_t *all;

	a->words = calloc((s->n_features + 1) * w->n_words, sizeof(*a->words));
	if (!a->words)
		return -ENOMEM;
	all = bitmap(w, a, s->n_features);
	for (size_t f = 0; f < s->n_features; f++) {
		uint64_t *own = bitmap(w, a, f);

		for (size_t i = 0; i < s->series[f].n; i++)
			own[s->series[f].tick[i] / 64] |= 1ull << s->series[f].tick[i] % 64;
		for (size_t i = 0; i < w->n_words; i++)
			all[i] |= own[i];
	}
	return list_ticks(w, a, all);
}

/* The closest superset among those written before: where two features change together, the second costs
 * nothing. */
static void choose_base(const struct writer *w, const struct subject *s, struct activity *a,
			const struct column *columns, size_t rank)
{
	size_t own = columns[rank].feature, best = a->n;

	a->base[own] = BASE_ACTIVITY;
	for (size_t i = 0; i < rank && best > s->series[own].n; i++) {
		size_t f = columns[i].feature, n = s->series[f].n;

		if (n < s->series[own].n || n >= best ||
		    !within(bitmap(w, a, own), bitmap(w, a, f), w->n_words))
			continue;
		best = n;
		a->base[own] = (uint8_t)(1 + f);
	}
}

/* --- tokens --- */

static void put_gaps(struct token_writer *out, const uint32_t *places, size_t n, size_t n_base, bool sparse)
{
	unsigned model = gap_model(n, n_base, sparse);
	uint32_t next = 0, gap = 0;

	for (size_t i = 0; i < n; i++) {
		bool after_gap = gap > 0;

		gap = places[i] - next;
		token_put_number(out, model + after_gap, EXACT_GAPS, gap);
		next = places[i] + 1;
	}
}

static int find_places(struct writer *w, const struct series *s, const uint32_t *base)
{
	size_t at = 0;

	w->places.n = 0;
	for (size_t i = 0; i < s->n; i++) {
		while (base[at] != s->tick[i])
			at++;
		if (VEC_PUSH(w->places, (uint32_t)at) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void put_code(struct writer *w, struct predictor *p, unsigned code, bool sparse)
{
	token_put_number(&w->values, sparse ? p->n > 0 : predictor_model(p), EXACT_DISTANCES,
			 fold_sign((int64_t)code - predicted(p)));
	predictor_learn(p, (int32_t)code);
}

static void put_exact(struct writer *w, const struct series *s, bool gauge, bool sparse)
{
	struct predictor p = {};
	int64_t before = 0;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t u = fold_sign(s->value[i] - before);
		unsigned bits, code = exact_code(u, &bits);

		put_code(w, &p, code, sparse);
		if (bits) /* a model of one symbol: only the raw bits cost anything */
			token_put(&w->values, ENTROPY_MODELS - 1, 0, bits, u & ((1ull << bits) - 1));
		if (!gauge)
			continue;
		if (i == 0)
			p = predictor_of_changes;
		before = s->value[i];
	}
}

/* The code of a value that lies within 1 % of it, and makes what is to be carried as small as can be: the nearest, or the
 * neighbour of that. `before`: what is carried without this value. */
static uint16_t round_value(const struct scale *s, int64_t v, int64_t before, int64_t *ret_carry)
{
	unsigned code = scale_code(s, v), other;
	int64_t carry = before + v - s->value[code], instead;

	*ret_carry = carry;
	other = carry > 0 ? code + 1 : code - 1;
	if (carry == 0 || !code || other >= s->n)
		return (uint16_t)code;
	instead = before + v - s->value[other];
	if (100 * llabs(s->value[other] - v) > v || llabs(instead) >= llabs(carry))
		return (uint16_t)code;
	*ret_carry = instead;
	return (uint16_t)other;
}

/* What is left at the end goes to the largest, where the reader adds it. */
static bool takes_rest(const struct scale *s, const struct series *series, const uint16_t *codes, int64_t rest)
{
	size_t largest = 0;

	for (size_t i = 1; i < series->n; i++)
		if (codes[i] > codes[largest])
			largest = i;
	return 100 * llabs(s->value[codes[largest]] + rest - series->value[largest]) <= series->value[largest];
}

/* What rounding leaves over is carried into later values as far as they can take it, and then once more from the
 * beginning: a small rest is short to write. False if the rest cannot be put anywhere within 1 %. */
static bool round_values(const struct writer *w, const struct series *s, uint16_t *codes, int64_t *ret_rest)
{
	int64_t carry = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->value[i] <= 0 || s->value[i] >= INT64_MAX / 256)
			return false;
		codes[i] = round_value(&w->scale, s->value[i], carry, &carry);
	}
	for (size_t i = 0; i < s->n && llabs(carry) > REST_SMALL; i++)
		codes[i] = round_value(&w->scale, s->value[i], carry - s->value[i] + w->scale.value[codes[i]], &carry);
	*ret_rest = carry;
	return takes_rest(&w->scale, s, codes, carry);
}

static int round_series(const struct writer *w, const struct series *s, struct rounded *ret)
{
	uint16_t *codes = malloc(s->n * sizeof(*codes));

	if (!codes)
		return -ENOMEM;
	if (round_values(w, s, codes, &ret->rest)) {
		ret->codes = codes;
		return 0;
	}
	free(codes);
	return 0;
}

static int round_subject(const struct writer *w, const struct subject *s, struct activity *a)
{
	int r = 0;

	a->rounded = calloc(s->n_features, sizeof(*a->rounded));
	if (!a->rounded)
		return -ENOMEM;
	for (size_t f = 0; r == 0 && f < s->n_features; f++)
		if (s->series[f].n && s->features[f].kind == COUNTER)
			r = round_series(w, &s->series[f], &a->rounded[f]);
	return r;
}

static struct partner partner_of(const struct writer *w, size_t subject, int feature)
{
	const struct subject *s = w->d->subjects.v[subject];
	const struct rounded *r = feature < 0 ? NULL : &w->activities[subject].rounded[feature];

	return !r || !r->codes ? (struct partner){} : (struct partner){s->series[feature].tick, r->codes, s->series[feature].n, 0};
}

static void put_rounded(struct writer *w, size_t subject, const struct column *column, bool sparse)
{
	const struct series *s = &w->d->subjects.v[subject]->series[column->feature];
	const uint16_t *codes = w->activities[subject].rounded[column->feature].codes;
	struct partner partner = partner_of(w, subject, column->partner);
	struct pair_predictor p = pair_begin(column->ratio);

	for (size_t i = 0; i < s->n; i++) {
		int32_t beside = partner_code(&partner, s->tick[i]);
		struct expected e = pair_expect(&p, &w->scale, beside);

		token_put_number(&w->values, sparse ? p.own.n > 0 : e.model, EXACT_DISTANCES, fold_sign((int64_t)codes[i] - e.code));
		pair_learn(&p, &w->scale, beside, &e, codes[i]);
	}
}

/* --- partners --- */

static size_t values_tried(const struct series *s)
{
	return s->n < VALUES_TRIED ? s->n : VALUES_TRIED;
}

/* About the bits that the distances of a series' beginning take. */
static uint64_t cost_of(const struct writer *w, const struct series *s, const uint16_t *codes, struct partner partner, int32_t ratio)
{
	struct pair_predictor p = pair_begin(ratio);
	uint64_t bits = 0;

	for (size_t i = 0; i < values_tried(s); i++) {
		int32_t beside = partner_code(&partner, s->tick[i]);
		struct expected e = pair_expect(&p, &w->scale, beside);

		bits += 64 - (unsigned)__builtin_clzll(2 * fold_sign((int64_t)codes[i] - e.code) + 1);
		pair_learn(&p, &w->scale, beside, &e, codes[i]);
	}
	return bits;
}

/* The usual difference of two columns' levels, of the series that are tried. */
static int32_t usual_ratio(const struct writer *w, const struct column *column, int partner, const size_t *tried, size_t n)
{
	int64_t sum = 0, values = 0;

	for (size_t i = 0; i < n; i++) {
		const struct series *s = &w->d->subjects.v[tried[i]]->series[column->feature];
		const uint16_t *codes = w->activities[tried[i]].rounded[column->feature].codes;
		struct partner beside = partner_of(w, tried[i], partner);

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

static uint64_t cost_with(const struct writer *w, const struct column *column, int partner, int32_t ratio, const size_t *tried, size_t n)
{
	uint64_t cost = 0;

	for (size_t i = 0; i < n; i++)
		cost += cost_of(w, &w->d->subjects.v[tried[i]]->series[column->feature],
				w->activities[tried[i]].rounded[column->feature].codes, partner_of(w, tried[i], partner), ratio);
	return cost;
}

/* Some of the column's series, from all over it. */
static size_t choose_tried(const struct writer *w, enum entity_kind kind, const struct column *column, size_t tried[SERIES_TRIED])
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

/* A partner may have one itself, but not too many behind it: who reads one column reads all of them. */
static void choose_partner(const struct writer *w, enum entity_kind kind, struct column *columns, size_t rank)
{
	struct column *own = &columns[rank];
	size_t n_features, tried[SERIES_TRIED], n;
	const struct feature *features = features_of(kind, &n_features);
	uint64_t best;

	own->partner = -1;
	if (own->n_values < SPARSE_TOKENS || features[own->feature].kind != COUNTER)
		return;
	n = choose_tried(w, kind, own, tried);
	best = cost_with(w, own, -1, 0, tried, n) * (100 - LEAST_GAIN) / 100;
	for (size_t i = 0; i < rank; i++) {
		int32_t ratio;
		uint64_t cost;

		if (columns[i].depth >= PARTNERS_MAX || columns[i].n_values < SPARSE_TOKENS || features[columns[i].feature].kind != COUNTER)
			continue;
		ratio = usual_ratio(w, own, (int)columns[i].feature, tried, n);
		cost = cost_with(w, own, (int)columns[i].feature, ratio, tried, n);
		if (cost >= best)
			continue;
		best = cost;
		own->partner = (int)columns[i].feature;
		own->ratio = ratio;
		own->depth = columns[i].depth + 1;
	}
}

/* --- columns --- */

/* The directory goes in planes, so that zstd sees like beside like. */
struct directory {
	struct str subjects, counts, bases, rests;
};

static int put_series(struct writer *w, size_t subject, const struct column *column, struct directory *dir)
{
	const struct subject *s = w->d->subjects.v[subject];
	const struct activity *a = &w->activities[subject];
	const struct series *series = &s->series[column->feature], *base;
	bool sparse = column->n_values < SPARSE_TOKENS, gauge = s->features[column->feature].kind != COUNTER;
	bool exact = !a->rounded[column->feature].codes;
	size_t n_base = a->n;
	const uint32_t *ticks = a->ticks;
	int r = 0;

	if (a->base[column->feature] != BASE_ACTIVITY) {
		base = &s->series[a->base[column->feature] - 1];
		ticks = base->tick;
		n_base = base->n;
	}
	if (series->n < n_base) {
		r = find_places(w, series, ticks);
		put_gaps(&w->gaps, w->places.v, w->places.n, n_base, sparse);
	}
	if (exact)
		put_exact(w, series, gauge, sparse);
	else
		put_rounded(w, subject, column, sparse);
	str_put_varint(&dir->counts, series->n);
	str_put_varint(&dir->bases, 2u * a->base[column->feature] + exact);
	if (!exact)
		str_put_svarint(&dir->rests, a->rounded[column->feature].rest);
	return r;
}

static void put_directory(struct str *meta, const struct directory *dir)
{
	str_put_blob(meta, dir->subjects.data, dir->subjects.len);
	str_put_blob(meta, dir->counts.data, dir->counts.len);
	str_put_blob(meta, dir->bases.data, dir->bases.len);
	str_put_blob(meta, dir->rests.data, dir->rests.len);
}

static void directory_free(struct directory *dir)
{
	str_free(&dir->subjects);
	str_free(&dir->counts);
	str_free(&dir->bases);
	str_free(&dir->rests);
}

/* Models into a blob of the meta part, streams into a blob of theirs. */
static int flush_tokens(struct writer *w, struct token_writer *tokens)
{
	struct str tables = {}, bytes = {};
	int r = tokens_write(tokens, &tables, &bytes);

	if (r == 0)
		r = str_put_blob(&w->meta, tables.data, tables.len);
	if (r == 0)
		r = str_put_blob(&w->streams, bytes.data, bytes.len);
	str_free(&tables);
	str_free(&bytes);
	return r;
}

static int put_column(struct writer *w, enum entity_kind kind, const struct column *column)
{
	struct directory dir = {};
	size_t next = 0;
	int r = 0;

	str_put_varint(&w->meta, column->feature);
	str_put_varint(&w->meta, column->n_series);
	str_put_varint(&w->meta, column->n_values);
	str_put_varint(&w->meta, (uint64_t)(1 + column->partner));
	str_put_svarint(&w->meta, column->ratio);
	for (size_t i = 0; r == 0 && i < w->d->subjects.n; i++) {
		const struct subject *s = w->d->subjects.v[i];

		if (s->info.kind != kind || !s->series[column->feature].n)
			continue;
		str_put_varint(&dir.subjects, i - next);
		next = i + 1;
		r = put_series(w, i, column, &dir);
	}
	put_directory(&w->meta, &dir);
	directory_free(&dir);
	if (r == 0)
		r = flush_tokens(w, &w->gaps);
	return r == 0 ? flush_tokens(w, &w->values) : r;
}

static int by_values(const void *a, const void *b)
{
	const struct column *x = a, *y = b;

	if (x->n_values != y->n_values)
		return x->n_values < y->n_values ? 1 : -1;
	return x->feature < y->feature ? -1 : x->feature > y->feature;
}

static size_t list_columns(const struct dataset *d, enum entity_kind kind,
			   struct column columns[FEATURES_MAX])
{
	size_t n, kept = 0;

	features_of(kind, &n);
	for (size_t f = 0; f < n; f++)
		columns[f] = (struct column){.feature = f};
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		for (size_t f = 0; s->info.kind == kind && f < n; f++) {
			columns[f].n_series += s->series[f].n > 0;
			columns[f].n_values += s->series[f].n;
		}
	}
	if (n)
		qsort(columns, n, sizeof(columns[0]), by_values);
	while (kept < n && columns[kept].n_values)
		kept++;
	return kept;
}

static int put_activities(struct writer *w, enum entity_kind kind)
{
	struct str counts = {};
	int r;

	for (size_t i = 0; i < w->d->subjects.n; i++) {
		const struct activity *a = &w->activities[i];

		if (w->d->subjects.v[i]->info.kind != kind)
			continue;
		str_put_varint(&counts, a->n);
		if (a->n < w->d->ticks.n)
			put_gaps(&w->gaps, a->ticks, a->n, w->d->ticks.n, false);
	}
	r = str_put_blob(&w->meta, counts.data, counts.len);
	str_free(&counts);
	return r == 0 ? flush_tokens(w, &w->gaps) : r;
}

static int put_kind(struct writer *w, enum entity_kind kind)
{
	struct column columns[FEATURES_MAX];
	size_t n = list_columns(w->d, kind, columns);
	int r;

	str_put_varint(&w->meta, n);
	if (!n)
		return w->meta.error;
	for (size_t i = 0; i < w->d->subjects.n; i++)
		for (size_t rank = 0; w->d->subjects.v[i]->info.kind == kind && rank < n; rank++)
			if (w->d->subjects.v[i]->series[columns[rank].feature].n)
				choose_base(w, w->d->subjects.v[i], &w->activities[i], columns, rank);
	for (size_t rank = 0; rank < n; rank++)
		choose_partner(w, kind, columns, rank);
	r = put_activities(w, kind);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_column(w, kind, &columns[i]);
	return r;
}

/* --- the rest --- */

/* A feature is known by its name; its place in the table may differ where the chunk is read. */
static void put_vocabulary(struct writer *w)
{
	for (enum entity_kind kind = ENTITY_PROCESS; kind < ENTITY_KIND_END; kind++) {
		size_t n;
		const struct feature *features = features_of(kind, &n);

		str_put_varint(&w->meta, n);
		for (size_t f = 0; f < n; f++) {
			str_put_blob(&w->meta, features[f].name, strlen(features[f].name));
			str_put_varint(&w->meta, (uint64_t)features[f].quantum);
		}
	}
}

/* Each time as its distance from what the one before suggests; in planes. */
static void put_ticks(struct writer *w)
{
	struct str boot = {}, wall = {}, span = {};
	int64_t last_boot = 0, apart = 0;

	for (size_t i = 0; i < w->d->ticks.n; i++) {
		const struct moment *m = &w->d->ticks.v[i];

		str_put_svarint(&boot, m->boot - last_boot);
		str_put_svarint(&wall, m->wall - m->boot - apart);
		str_put_svarint(&span, m->boot - last_boot - m->span);
		last_boot = m->boot;
		apart = m->wall - m->boot;
	}
	str_put_varint(&w->meta, w->d->ticks.n);
	str_put_blob(&w->meta, boot.data, boot.len);
	str_put_blob(&w->meta, wall.data, wall.len);
	str_put_blob(&w->meta, span.data, span.len);
	str_free(&boot);
	str_free(&wall);
	str_free(&span);
}

static void put_subjects(struct writer *w)
{
	struct str definition = {};

	str_put_varint(&w->meta, w->d->subjects.n);
	for (size_t i = 0; i < w->d->subjects.n; i++) {
		const struct subject *s = w->d->subjects.v[i];

		str_clear(&definition);
		entity_info_write(&s->info, &definition);
		str_put_blob(&w->meta, definition.data, definition.len);
		str_put_varint(&w->meta, s->first);
		str_put_varint(&w->meta, s->ended ? 1 + s->last : 0);
	}
	str_free(&definition);
}

static void put_notes(struct writer *w)
{
	str_put_varint(&w->meta, w->d->notes.n);
	for (size_t i = 0; i < w->d->notes.n; i++) {
		const struct note *note = &w->d->notes.v[i];

		str_put_varint(&w->meta, note->kind);
		str_put_svarint(&w->meta, note->wall);
		str_put_blob(&w->meta, note->text, strlen(note->text));
	}
}

static int put_all(struct writer *w)
{
	int r = 0;

	str_put_varint(&w->meta, CHUNK_MARK + CHUNK_VERSION);
	put_vocabulary(w);
	put_ticks(w);
	put_subjects(w);
	put_notes(w);
	for (size_t i = 0; r == 0 && i < w->d->subjects.n; i++)
		r = find_activity(w, w->d->subjects.v[i], &w->activities[i]);
	for (size_t i = 0; r == 0 && i < w->d->subjects.n; i++)
		r = round_subject(w, w->d->subjects.v[i], &w->activities[i]);
	for (enum entity_kind kind = ENTITY_PROCESS; r == 0 && kind < ENTITY_KIND_END; kind++)
		r = put_kind(w, kind);
	return r < 0 ? r : w->meta.error ? w->meta.error : w->streams.error;
}

static int assemble(const struct writer *w, struct str *out)
{
	size_t start = out->len, bound = ZSTD_compressBound(w->meta.len), n;
	_cleanup_free_ void *packed = malloc(bound);
	uint32_t crc = 0;

	if (!packed)
		return -ENOMEM;
	n = ZSTD_compress(packed, bound, w->meta.data, w->meta.len, META_LEVEL);
	if (ZSTD_isError(n))
		return -EIO;
	str_append(out, &crc, sizeof(crc));
	str_put_varint(out, w->meta.len);
	str_put_blob(out, packed, n);
	str_append(out, w->streams.data, w->streams.len);
	if (out->error)
		return out->error;
	crc = htole32((uint32_t)crc32(0, (const void *)(out->data + start + sizeof(crc)),
				      (uInt)(out->len - start - sizeof(crc))));
	memcpy(out->data + start, &crc, sizeof(crc));
	return 0;
}

int chunk_write(const struct dataset *d, struct str *out)
{
	struct writer *w = calloc(1, sizeof(*w));
	int r = -ENOMEM;

	if (!w)
		return r;
	w->d = d;
	w->n_words = d->ticks.n / 64 + 1;
	w->activities = calloc(d->subjects.n + 1, sizeof(*w->activities));
	if (w->activities) {
		scale_fill(&w->scale);
		r = put_all(w);
	}
	if (r == 0)
		r = assemble(w, out);
	for (size_t i = 0; w->activities && i < d->subjects.n; i++) {
		for (size_t f = 0; w->activities[i].rounded && f < d->subjects.v[i]->n_features; f++)
			free(w->activities[i].rounded[f].codes);
		free(w->activities[i].rounded);
		free(w->activities[i].words);
		free(w->activities[i].ticks);
	}
	free(w->activities);
	str_free(&w->meta);
	str_free(&w->streams);
	token_writer_free(&w->gaps);
	token_writer_free(&w->values);
	VEC_FREE(w->places);
	free(w);
	return r;
}
