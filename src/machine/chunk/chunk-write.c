#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/data/cleanup.h"
#include "lib/data/order.h"
#include "lib/store/blocks.h"
#include "machine/chunk/chunk-writer.h"
#include "machine/chunk/chunk.h"

#define META_LEVEL 9
#define META_BLOCK ((size_t)16 << 10) /* what columns of one kind have to say is like, and unlike the next kind's */

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
static void chunk_choose_partner(const struct chunk_writer *w, enum entity_kind kind, struct written_column *columns,
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

/* --- tokens --- */

static void put_gaps(struct entropy_writer *out, const uint32_t *places, size_t n, size_t n_base, bool sparse)
{
	unsigned model = chunk_gap_model(n, n_base, sparse);
	uint32_t next = 0, gap = 0;

	for (size_t i = 0; i < n; i++) {
		bool after_gap = gap > 0;

		gap = places[i] - next;
		entropy_put_number(out, model + after_gap, EXACT_GAPS, gap);
		next = places[i] + 1;
	}
}

static int find_places(struct chunk_writer *w, const struct series *s, const uint32_t *base)
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

static void put_code(struct chunk_writer *w, struct predictor *p, unsigned code, bool sparse)
{
	entropy_put_number(&w->values, sparse ? p->n > 0 : context_model[predictor_context(p)],
			   EXACT_DISTANCES, precision_fold_sign((int64_t)code - predictor_expect(p)));
	predictor_learn(p, (int32_t)code);
}

static void put_exact(struct chunk_writer *w, const struct series *s, bool gauge, bool sparse)
{
	struct predictor p = {};
	int64_t before = 0;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t u = precision_fold_sign(s->value[i] - before);
		unsigned bits, code = precision_exact_code(u, &bits);

		put_code(w, &p, code, sparse);
		if (bits) /* a model of one symbol: only the raw bits cost anything */
			entropy_put(&w->values, ENTROPY_MODELS - 1, 0, bits, u & ((1ull << bits) - 1));
		if (!gauge)
			continue;
		if (i == 0)
			p = predictor_of_changes;
		before = s->value[i];
	}
}

static void put_rounded(struct chunk_writer *w, size_t subject, const struct written_column *column,
			bool sparse)
{
	const struct series *s = &w->d->subjects.v[subject]->series[column->feature];
	const uint16_t *codes = w->activities[subject].rounded[column->feature].codes;
	struct partner partner = chunk_partner(w, subject, column->partner);
	struct pair_predictor p = pair_predictor_begin(column->ratio);

	for (size_t i = 0; i < s->n; i++) {
		int32_t beside = partner_code(&partner, s->tick[i]);
		struct expected e = pair_predictor_expect(&p, &w->scale, beside);

		entropy_put_number(&w->values, sparse ? p.own.n > 0 : context_model[e.context],
				   EXACT_DISTANCES, precision_fold_sign((int64_t)codes[i] - e.code));
		pair_predictor_learn(&p, &w->scale, beside, &e, codes[i]);
	}
}

/* --- columns --- */

/* The directory goes in planes, so that zstd sees like next to like. */
struct directory {
	struct str subjects, counts, bases, rests;
};

static int put_series(struct chunk_writer *w, size_t subject, const struct written_column *column,
		      struct directory *dir)
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
	if (series->n < n_base)
		str_put_varint(&dir->counts, series->n);
	str_put_varint(&dir->bases, 4u * a->base[column->feature] + (series->n == n_base ? 2 : 0) + exact);
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

/* Models into a blob of the meta part, streams into a blob of theirs; points, where the tokens have any. */
static int flush_tokens(struct chunk_writer *w, struct entropy_writer *tokens, struct str *points)
{
	_cleanup_str_ struct str tables = {}, bytes = {};
	int r = entropy_write(tokens, &tables, &bytes, points);

	r = r ?: str_put_blob(&w->meta, tables.data, tables.len);
	return r ?: str_put_blob(&w->streams, bytes.data, bytes.len);
}

static int put_column(struct chunk_writer *w, enum entity_kind kind, const struct written_column *column)
{
	struct directory dir = {};
	_cleanup_str_ struct str points = {};
	size_t next = 0, since = 0;
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
		if (since >= POINT_EVERY && !column->first) { /* as read_series() expects them */
			entropy_put_point(&w->values);
			since = 0;
		}
		since += s->series[column->feature].n;
		r = put_series(w, i, column, &dir);
	}
	put_directory(&w->meta, &dir);
	directory_free(&dir);
	r = r ?: flush_tokens(w, &w->gaps, &points);
	r = r ?: flush_tokens(w, &w->values, &points);
	return r ?: str_put_blob(&w->meta, points.data, points.len);
}

ORDER(by_values, struct written_column, DESCENDING(first) ?: DESCENDING(n_values) ?: ASCENDING(feature))

/* Only of programs is some read of everybody and the rest of a few. */
static bool is_read_first(enum entity_kind kind, size_t feature)
{
	bool program = kind == ENTITY_PROCESS || kind == ENTITY_SHORT_LIVED || kind == ENTITY_KERNEL;

	return program && FEATURES_READ_FIRST >> feature & 1;
}

static size_t list_columns(const struct dataset *d, enum entity_kind kind,
			   struct written_column columns[FEATURES_MAX])
{
	size_t n, kept = 0;

	features_of(kind, &n);
	for (size_t f = 0; f < n; f++)
		columns[f] = (struct written_column){.feature = f, .first = is_read_first(kind, f)};
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct subject *s = d->subjects.v[i];

		for (size_t f = 0; s->info.kind == kind && f < n; f++) {
			columns[f].n_series += s->series[f].n > 0;
			columns[f].n_values += s->series[f].n;
		}
	}
	if (n)
		qsort(columns, n, sizeof(columns[0]), by_values);
	for (size_t i = 0; i < n; i++)
		if (columns[i].n_values)
			columns[kept++] = columns[i];
	return kept;
}

static int put_activities(struct chunk_writer *w, enum entity_kind kind)
{
	_cleanup_str_ struct str counts = {};
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
	return r == 0 ? flush_tokens(w, &w->gaps, NULL) : r;
}

static int put_kind(struct chunk_writer *w, enum entity_kind kind)
{
	struct written_column columns[FEATURES_MAX];
	size_t n = list_columns(w->d, kind, columns);
	int r;

	str_put_varint(&w->meta, n);
	if (!n)
		return w->meta.error;
	for (size_t i = 0; i < w->d->subjects.n; i++)
		for (size_t rank = 0; w->d->subjects.v[i]->info.kind == kind && rank < n; rank++)
			if (w->d->subjects.v[i]->series[columns[rank].feature].n)
				chunk_choose_base(w->d->subjects.v[i], &w->activities[i], columns, rank);
	for (size_t rank = 0; rank < n; rank++)
		chunk_choose_partner(w, kind, columns, rank);
	r = put_activities(w, kind);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_column(w, kind, &columns[i]);
	return r;
}

/* --- the rest --- */

/* A feature is known by its name; its place in the table may differ where the chunk is read. */
static void put_vocabulary(struct chunk_writer *w)
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
static void put_ticks(struct chunk_writer *w)
{
	_cleanup_str_ struct str boot = {}, wall = {}, span = {};
	int64_t last_boot = 0, apart = 0;

	VEC_EACH(m, w->d->ticks) {
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
}

static void put_subjects(struct chunk_writer *w)
{
	_cleanup_str_ struct str definition = {};

	str_put_varint(&w->meta, w->d->subjects.n);
	for (size_t i = 0; i < w->d->subjects.n; i++) {
		const struct subject *s = w->d->subjects.v[i];

		str_clear(&definition);
		entity_info_write(&s->info, &definition);
		str_put_blob(&w->meta, definition.data, definition.len);
		str_put_varint(&w->meta, s->first);
		str_put_varint(&w->meta, s->ended ? 1 + s->last : 0);
	}
}

static void put_notes(struct chunk_writer *w)
{
	str_put_varint(&w->meta, w->d->notes.n);
	VEC_EACH(note, w->d->notes) {
		str_put_varint(&w->meta, note->kind);
		str_put_svarint(&w->meta, note->wall);
		str_put_blob(&w->meta, note->text, strlen(note->text));
	}
}

static int put_all(struct chunk_writer *w)
{
	int r = 0;

	str_put_varint(&w->meta, CHUNK_MARK + CHUNK_VERSION);
	put_vocabulary(w);
	put_ticks(w);
	put_subjects(w);
	put_notes(w);
	for (size_t i = 0; r == 0 && i < w->d->subjects.n; i++)
		r = activity_of(w, w->d->subjects.v[i], &w->activities[i]);
	for (enum entity_kind kind = ENTITY_PROCESS; r == 0 && kind < ENTITY_KIND_END; kind++)
		r = put_kind(w, kind);
	return r < 0 ? r : w->meta.error ? w->meta.error : w->streams.error;
}

static int pack_meta(const struct str *meta, struct str *packed)
{
	_cleanup_vec_ VEC(size_t) ends = {};
	int r = 0;

	for (size_t at = 0; r == 0 && at < meta->len; at = ends.v[ends.n - 1])
		r = VEC_PUSH(ends, meta->len - at < META_BLOCK ? meta->len : at + META_BLOCK);
	if (r == 0)
		r = blocks_pack(meta->data, (struct block_ends){ends.v, ends.n}, META_LEVEL, packed);
	return r;
}

static int assemble(const struct chunk_writer *w, struct str *out)
{
	size_t start = out->len;
	_cleanup_str_ struct str packed = {};
	uint32_t crc = 0;
	int r = pack_meta(&w->meta, &packed);

	if (r < 0)
		return r;
	str_append(out, &crc, sizeof(crc));
	str_put_varint(out, w->meta.len);
	str_put_blob(out, packed.data, packed.len);
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
	struct chunk_writer *w = calloc(1, sizeof(*w));
	int r = -ENOMEM;

	if (!w)
		return r;
	w->d = d;
	w->activities = calloc(d->subjects.n + 1, sizeof(*w->activities));
	if (w->activities) {
		scale_fill(&w->scale);
		r = put_all(w);
	}
	r = r ?: assemble(w, out);
	for (size_t i = 0; w->activities && i < d->subjects.n; i++)
		activity_free(&w->activities[i], d->subjects.v[i]->n_features);
	free(w->activities);
	str_free(&w->meta);
	str_free(&w->streams);
	entropy_writer_free(&w->gaps);
	entropy_writer_free(&w->values);
	VEC_FREE(w->places);
	free(w);
	return r;
}
