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

#define CRC_SIZE sizeof(uint32_t)

/* A feature of the chunk's vocabulary. */
struct word {
	int feature;			/* in this program's table; -1 = unknown here */
	int64_t numerator, denominator; /* quanta of the chunk in quanta of the table */
};

struct member {
	enum entity_kind kind;
	struct subject *subject; /* NULL = not wanted */
	uint64_t wanted;	 /* features of the chunk's vocabulary */
	uint32_t n_active;
	uint32_t *active; /* in the kind's room */
};

struct column_series {
	uint32_t member, n;
	uint16_t base;
	bool exact, needed, wanted;
	int64_t rest;
	struct column_series *of; /* the series that is its base; NULL = the entity's activity */
	size_t at;		  /* where in the subject's series */
	uint32_t *ticks;	  /* where they were put, for series that use it as a base or a partner */
	struct column_series *partner; /* NULL = it has none */
	uint16_t *codes; /* where they were put, for series that use it as a partner; NULL = it was kept exactly */
};

struct chunk_column {
	enum entity_kind kind;
	uint32_t feature; /* of the chunk's vocabulary */
	struct column_series *series;
	size_t n_series, n_values;
	struct reader planes[4]; /* members, lengths, bases, rests of its series */
	struct chunk_column *partner; /* NULL = none */
	uint32_t partner_feature;     /* 1 + its feature of the vocabulary; 0 = none */
	int32_t ratio;
	struct reader gap_tables, value_tables, gap_bytes, value_bytes;
	bool read, needed, wanted;
	bool valued; /* some column's partner: its codes are needed */
};

struct kind_part {
	struct reader tables, bytes; /* activity */
	uint32_t *room;		     /* ... decoded, for the next load as well */
	uint32_t first_tick;	     /* ... which it was decoded for */
	struct chunk_column *columns;
	size_t n_columns;
	struct word *words;
	size_t n_words;
};

struct chunk {
	bool whole; /* not just its head */
	char *meta;
	size_t n_meta;
	struct reader streams;
	unsigned version;
	uint32_t n_ticks, first_tick;
	struct reader boot, wall, span, subjects, notes;
	struct member *members;
	size_t n_members;
	struct kind_part kinds[ENTITY_KIND_END];
	struct dataset *into;
	size_t n_scratch, n_codes; /* ticks of series that only serve as a base or a partner; codes of partners */
	struct scale scale;
};

static struct reader take_part(struct reader *in)
{
	size_t n;
	const char *bytes = read_blob(in, &n);

	return (struct reader){(const uint8_t *)bytes, (const uint8_t *)bytes + n, false};
}

/* --- opening: the directory --- */

static int read_word(struct reader *in, enum entity_kind kind, struct word *ret)
{
	size_t n, n_features;
	const char *name = read_blob(in, &n);
	const struct feature *features = features_of(kind, &n_features);
	int64_t quantum = (int64_t)read_varint(in);

	if (in->bad || quantum <= 0)
		return -EBADMSG;
	*ret = (struct word){-1, 1, 1};
	for (size_t f = 0; f < n_features; f++) {
		if (!n || features[f].name[0] != name[0] || strlen(features[f].name) != n || memcmp(features[f].name, name, n) != 0)
			continue;
		ret->feature = (int)f;
		if (features[f].quantum != quantum) {
			ret->numerator = quantum;
			ret->denominator = features[f].quantum;
		}
	}
	return 0;
}

static int read_version(struct chunk *c, struct reader *in)
{
	struct reader peek = *in;
	uint64_t mark = read_varint(&peek);

	if (mark < CHUNK_MARK)
		return 0; /* the vocabulary's */
	*in = peek;
	c->version = (unsigned)(mark - CHUNK_MARK);
	return c->version == CHUNK_VERSION ? 0 : -EBADMSG;
}

static int read_vocabulary(struct chunk *c, struct reader *in)
{
	for (enum entity_kind kind = ENTITY_PROCESS; kind < ENTITY_KIND_END; kind++) {
		struct kind_part *part = &c->kinds[kind];

		part->n_words = read_varint(in);
		if (in->bad || part->n_words > FEATURES_MAX)
			return -EBADMSG;
		part->words = calloc(part->n_words + 1, sizeof(*part->words));
		if (!part->words)
			return -ENOMEM;
		for (size_t f = 0; f < part->n_words; f++)
			if (read_word(in, kind, &part->words[f]) < 0)
				return -EBADMSG;
	}
	return 0;
}

static int read_ticks(struct chunk *c, struct reader *in)
{
	c->n_ticks = (uint32_t)read_varint(in);
	c->boot = take_part(in);
	c->wall = take_part(in);
	c->span = take_part(in);
	/* each takes a byte at least: this bounds what a damaged number can ask for */
	return in->bad || c->n_ticks > (size_t)(c->boot.end - c->boot.at) ? -EBADMSG : 0;
}

/* Only where each definition is; what they say is read by the plan. */
static int read_members(struct chunk *c, struct reader *in)
{
	c->n_members = read_varint(in);
	if (in->bad || c->n_members > (size_t)(in->end - in->at))
		return -EBADMSG;
	c->members = calloc(c->n_members + 1, sizeof(*c->members));
	if (!c->members)
		return -ENOMEM;
	c->subjects = *in;
	for (size_t i = 0; i < c->n_members; i++) {
		struct reader definition = take_part(in);
		uint64_t id = read_varint(&definition), kind = read_varint(&definition);
		uint64_t first = read_varint(in), ended = read_varint(in);

		if (in->bad || definition.bad || !id || kind < ENTITY_PROCESS || kind >= ENTITY_KIND_END ||
		    first > c->n_ticks || ended > c->n_ticks)
			return -EBADMSG;
		c->members[i].kind = (enum entity_kind)kind;
	}
	return 0;
}

static int skip_notes(struct chunk *c, struct reader *in)
{
	uint64_t n;

	c->notes = *in;
	for (n = read_varint(in); n && !in->bad; n--) {
		read_varint(in);
		read_svarint(in);
		take_part(in);
	}
	return in->bad ? -EBADMSG : 0;
}

static int read_series(struct chunk *c, struct chunk_column *column)
{
	struct reader *planes = column->planes;
	uint64_t member = 0, total = 0;

	column->series = calloc(column->n_series + 1, sizeof(*column->series));
	if (!column->series)
		return -ENOMEM;
	for (size_t i = 0; i < column->n_series; i++) {
		struct column_series *s = &column->series[i];
		uint64_t base, n;

		member += read_varint(&planes[0]);
		n = read_varint(&planes[1]);
		base = read_varint(&planes[2]);
		s->exact = base & 1;
		base /= 2;
		if (!s->exact)
			s->rest = read_svarint(&planes[3]);
		if (planes[0].bad || planes[1].bad || planes[2].bad || planes[3].bad ||
		    member >= c->n_members || c->members[member].kind != column->kind || n == 0 ||
		    n > c->n_ticks || base > c->kinds[column->kind].n_words)
			return -EBADMSG;
		s->member = (uint32_t)member++;
		s->n = (uint32_t)n;
		s->base = (uint16_t)base;
		total += n;
	}
	return total == column->n_values ? 0 : -EBADMSG;
}

/* Where its parts lie; what they say is read of those that may be wanted. */
static int read_column(struct chunk *c, enum entity_kind kind, struct chunk_column *column, struct reader *in)
{
	column->kind = kind;
	column->feature = (uint32_t)read_varint(in);
	column->n_series = read_varint(in);
	column->n_values = read_varint(in);
	if (c->version > 0) {
		column->partner_feature = (uint32_t)read_varint(in);
		column->ratio = (int32_t)read_svarint(in);
	}
	for (size_t i = 0; i < ARRAY_SIZE(column->planes); i++)
		column->planes[i] = take_part(in);
	column->gap_tables = take_part(in);
	column->value_tables = take_part(in);
	column->gap_bytes = take_part(&c->streams);
	column->value_bytes = take_part(&c->streams);
	if (in->bad || c->streams.bad || column->feature >= c->kinds[kind].n_words ||
	    column->n_series > c->n_members || column->partner_feature > c->kinds[kind].n_words ||
	    column->ratio > SCALE_MAX || column->ratio < -SCALE_MAX)
		return -EBADMSG;
	return 0;
}

static int read_activities(struct chunk *c, enum entity_kind kind, struct reader *in)
{
	struct reader counts = take_part(in);

	c->kinds[kind].tables = take_part(in);
	c->kinds[kind].bytes = take_part(&c->streams);
	for (size_t i = 0; i < c->n_members; i++) {
		if (c->members[i].kind != kind)
			continue;
		c->members[i].n_active = (uint32_t)read_varint(&counts);
		if (counts.bad || c->members[i].n_active > c->n_ticks)
			return -EBADMSG;
	}
	return in->bad || c->streams.bad ? -EBADMSG : 0;
}

/* The chunk's features of which the table's are wanted. */
static uint64_t wanted_words(const struct kind_part *part, uint64_t features)
{
	uint64_t wanted = 0;

	for (size_t f = 0; f < part->n_words; f++)
		if (part->words[f].feature >= 0 && features >> part->words[f].feature & 1)
			wanted |= 1ull << f;
	return wanted;
}

/* The base of each series of a column: both columns ascend by member, so one walk finds all of one column. */
static int find_bases(struct kind_part *part, struct chunk_column *column)
{
	const struct chunk_column *of[FEATURES_MAX + 1] = {};
	size_t next[FEATURES_MAX + 1] = {};

	for (const struct chunk_column *before = part->columns; before < column; before++)
		of[1 + before->feature] = before;
	for (size_t i = 0; i < column->n_series; i++) {
		struct column_series *s = &column->series[i];
		size_t *at = &next[s->base];

		if (s->base == BASE_ACTIVITY)
			continue;
		if (!of[s->base])
			return -EBADMSG;
		while (*at < of[s->base]->n_series && of[s->base]->series[*at].member < s->member)
			++*at;
		if (*at == of[s->base]->n_series || of[s->base]->series[*at].member != s->member ||
		    of[s->base]->series[*at].n < s->n)
			return -EBADMSG;
		s->of = &of[s->base]->series[*at];
	}
	return 0;
}

/* A column's partner, and each series' partner in it: find_bases() of partners. */
static int find_partners(struct kind_part *part, struct chunk_column *column)
{
	size_t at = 0;

	for (struct chunk_column *before = part->columns; column->partner_feature && before < column; before++)
		if (1 + before->feature == column->partner_feature)
			column->partner = before;
	if (!column->partner)
		return column->partner_feature ? -EBADMSG : 0;
	for (size_t i = 0; i < column->n_series; i++) {
		struct column_series *s = &column->series[i];

		while (at < column->partner->n_series && column->partner->series[at].member < s->member)
			at++;
		if (at < column->partner->n_series && column->partner->series[at].member == s->member)
			s->partner = &column->partner->series[at];
	}
	return 0;
}

/* Columns that may be wanted, and those that serve them as a base or partner, which stand before them: from the last one to the first. */
static int read_columns(struct chunk *c, enum entity_kind kind, uint64_t features)
{
	struct kind_part *part = &c->kinds[kind];
	uint64_t words = wanted_words(part, features), bases = 0;
	int r = 0;

	for (size_t i = part->n_columns; r == 0 && i-- > 0;) {
		struct chunk_column *column = &part->columns[i];

		column->read = features == UINT64_MAX || (words | bases) >> column->feature & 1;
		if (!column->read) {
			column->n_series = column->n_values = 0;
			continue;
		}
		r = read_series(c, column);
		if (column->partner_feature)
			bases |= 1ull << (column->partner_feature - 1);
		for (size_t k = 0; r == 0 && k < column->n_series; k++)
			if (column->series[k].base != BASE_ACTIVITY)
				bases |= 1ull << (column->series[k].base - 1);
	}
	for (size_t i = 0; r == 0 && i < part->n_columns; i++)
		r = find_bases(part, &part->columns[i]);
	for (size_t i = 0; r == 0 && i < part->n_columns; i++)
		r = find_partners(part, &part->columns[i]);
	return r;
}

static int read_kind(struct chunk *c, enum entity_kind kind, uint64_t features, struct reader *in)
{
	struct kind_part *part = &c->kinds[kind];
	uint64_t n = read_varint(in);
	int r;

	if (in->bad || n > part->n_words)
		return -EBADMSG;
	if (n == 0)
		return 0;
	r = read_activities(c, kind, in);
	part->columns = calloc(n, sizeof(*part->columns));
	if (!part->columns)
		return -ENOMEM;
	for (; r == 0 && part->n_columns < n; part->n_columns++)
		r = read_column(c, kind, &part->columns[part->n_columns], in);
	return r == 0 ? read_columns(c, kind, features) : r;
}

static int read_directory(struct chunk *c, const uint64_t *features)
{
	struct reader in = {(const uint8_t *)c->meta, (const uint8_t *)c->meta + c->n_meta, false};
	int r = read_version(c, &in);

	if (r == 0)
		r = read_vocabulary(c, &in);

	if (r == 0)
		r = read_ticks(c, &in);
	if (r == 0)
		r = read_members(c, &in);
	if (r == 0)
		r = skip_notes(c, &in);
	for (enum entity_kind kind = ENTITY_PROCESS; r == 0 && c->whole && kind < ENTITY_KIND_END; kind++)
		r = read_kind(c, kind, features ? features[kind] : UINT64_MAX, &in);
	return r;
}

static bool checksum_fits(const uint8_t *bytes, size_t n)
{
	uint32_t crc;

	memcpy(&crc, bytes, sizeof(crc));
	return crc32(0, bytes + sizeof(crc), (uInt)(n - sizeof(crc))) == le32toh(crc);
}

static int unpack(struct chunk *c, const uint8_t *bytes, size_t n)
{
	struct reader in = {bytes + CRC_SIZE, bytes + n, false};
	size_t n_packed;
	const char *packed;

	if (n < CRC_SIZE || (c->whole && !checksum_fits(bytes, n)))
		return -EBADMSG;
	c->n_meta = read_varint(&in);
	packed = read_blob(&in, &n_packed);
	if (in.bad || c->n_meta > META_MAX)
		return -EBADMSG;
	c->meta = malloc(c->n_meta + 1);
	if (!c->meta)
		return -ENOMEM;
	if (ZSTD_decompress(c->meta, c->n_meta, packed, n_packed) != c->n_meta)
		return -EBADMSG;
	c->streams = in;
	return 0;
}

static int open_part(const void *bytes, size_t n, bool whole, const uint64_t *features, struct chunk **ret)
{
	struct chunk *c = calloc(1, sizeof(*c));
	int r = -ENOMEM;

	if (c) {
		c->whole = whole;
		r = unpack(c, bytes, n);
	}
	if (r == 0)
		r = read_directory(c, features);
	if (r < 0) {
		chunk_close(c);
		return r;
	}
	if (whole)
		scale_fill(&c->scale);
	*ret = c;
	return 0;
}

int chunk_open(const void *bytes, size_t n, const uint64_t *features, struct chunk **ret)
{
	return open_part(bytes, n, true, features, ret);
}

int chunk_open_head(const void *bytes, size_t n, struct chunk **ret)
{
	return open_part(bytes, n, false, NULL, ret);
}

size_t chunk_head_size(const void *bytes, size_t n)
{
	struct reader in = {(const uint8_t *)bytes + CRC_SIZE, (const uint8_t *)bytes + n, false};
	uint64_t packed;

	(void)read_varint(&in);
	packed = read_varint(&in);
	return n < CRC_SIZE || in.bad || packed > META_MAX ? 0 : (size_t)(in.at - (const uint8_t *)bytes) + packed;
}

void chunk_close(struct chunk *c)
{
	if (!c)
		return;
	for (size_t k = 0; k < ENTITY_KIND_END; k++) {
		for (size_t i = 0; i < c->kinds[k].n_columns; i++)
			free(c->kinds[k].columns[i].series);
		free(c->kinds[k].columns);
		free(c->kinds[k].room);
		free(c->kinds[k].words);
	}
	free(c->members);
	free(c->meta);
	free(c);
}

size_t chunk_values(const struct chunk *c)
{
	size_t n = 0;

	for (size_t k = 0; k < ENTITY_KIND_END; k++)
		for (size_t i = 0; i < c->kinds[k].n_columns; i++)
			n += c->kinds[k].columns[i].n_values;
	return n;
}

/* --- planning --- */

static int plan_ticks(struct chunk *c)
{
	struct reader boots = c->boot, walls = c->wall, spans = c->span;
	int64_t boot = 0, apart = 0;

	c->first_tick = (uint32_t)c->into->ticks.n;
	if (dataset_begin_segment(c->into) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_ticks; i++) {
		int64_t passed = read_svarint(&boots), span = passed - read_svarint(&spans);

		boot += passed;
		apart += read_svarint(&walls);
		if (dataset_add_tick(c->into, boot, boot + apart, span) < 0)
			return -ENOMEM;
	}
	return boots.bad || walls.bad || spans.bad ? -EBADMSG : 0;
}

static uint64_t translate(const struct kind_part *part, uint64_t mask)
{
	uint64_t translated = 0;

	for (size_t f = 0; f < part->n_words; f++)
		if (mask >> f & 1 && part->words[f].feature >= 0)
			translated |= 1ull << part->words[f].feature;
	return translated;
}

static int define(struct chunk *c, struct member *m, struct reader definition, uint64_t hash,
		  const struct load_filter *filter)
{
	struct entity_info info;
	uint64_t features = UINT64_MAX;
	const struct subject *known;
	int r = entity_info_read(&definition, &info);

	if (r < 0)
		return r;
	known = dataset_subject(c->into, info.id);
	if (info.kind != m->kind || (known && known->info.kind != info.kind)) {
		entity_info_free(&info);
		return -EBADMSG; /* nobody becomes another kind of thing */
	}
	info.present = translate(&c->kinds[m->kind], info.present);
	if (filter && filter->features)
		features = filter->features(&info, filter->data);
	if (features) {
		m->subject = dataset_define(c->into, &info);
		r = m->subject ? 0 : -ENOMEM;
		if (m->subject) {
			m->subject->definition = hash;
			m->subject->wanted = features & (filter && filter->most ? filter->most[m->kind] : UINT64_MAX);
		}
	}
	entity_info_free(&info);
	return r;
}

static int plan_member(struct chunk *c, struct member *m, struct reader *in, const struct load_filter *filter)
{
	struct reader definition = take_part(in);
	uint64_t hash = hash_bytes(definition.at, (size_t)(definition.end - definition.at));
	uint32_t first = (uint32_t)read_varint(in), ended = (uint32_t)read_varint(in);
	struct reader peek = definition;
	struct subject *known = dataset_subject(c->into, (uint32_t)read_varint(&peek));
	size_t subjects = c->into->subjects.n;
	int r = 0;

	if (known && known->definition == hash && known->info.kind == m->kind) {
		m->subject = known;
		known->segment = (uint32_t)c->into->segments.n - 1;
	} else {
		r = define(c, m, definition, hash, filter);
	}
	if (r < 0 || !m->subject)
		return r;
	m->wanted = wanted_words(&c->kinds[m->kind], m->subject->wanted);
	if (c->into->subjects.n > subjects) /* and not one that another recorder knew already */
		m->subject->first = c->first_tick + first;
	if (ended) {
		m->subject->ended = true;
		m->subject->last = c->first_tick + ended - 1;
	}
	return 0;
}

static int plan_notes(struct chunk *c)
{
	struct reader in = c->notes;

	for (uint64_t n = read_varint(&in); n; n--) {
		struct note note = {.kind = (enum note_kind)read_varint(&in)};

		note.wall = read_svarint(&in);
		note.text = read_text(&in);
		if (!note.text)
			return -ENOMEM;
		if (VEC_PUSH(c->into->notes, note) < 0) {
			free(note.text);
			return -ENOMEM;
		}
	}
	return 0;
}

static struct series *target(const struct chunk *c, const struct chunk_column *column,
			     const struct column_series *s)
{
	return &c->members[s->member].subject->series[c->kinds[column->kind].words[column->feature].feature];
}

/* Behind the last series that is needed nothing has to be read. */
static size_t needed_until(const struct chunk_column *column)
{
	size_t n = column->n_series;

	while (n && !column->series[n - 1].needed)
		n--;
	return n;
}

/* Values stand one behind the other: all up to the last that is needed are decoded, beside their partners. */
static void plan_partner(struct chunk_column *column)
{
	size_t until = needed_until(column);

	column->partner->valued = true;
	for (size_t i = 0; i < until; i++)
		if (column->series[i].partner)
			column->series[i].needed = column->series[i].partner->needed = true;
}

/* From the last column to the first: what is wanted, and what those need as a base or a partner. */
static void plan_column(struct chunk *c, struct chunk_column *column)
{
	for (size_t i = 0; i < column->n_series; i++) {
		struct column_series *s = &column->series[i];

		s->wanted = c->members[s->member].wanted >> column->feature & 1;
		s->needed |= s->wanted;
		column->wanted |= s->wanted;
		column->needed |= s->needed;
	}
	if ((column->wanted || column->valued) && column->partner)
		plan_partner(column);
	for (size_t i = 0; i < column->n_series; i++) {
		struct column_series *s = &column->series[i];

		if (s->wanted)
			s->at = series_reserve(target(c, column, s), s->n);
		else if (s->needed)
			c->n_scratch += s->n;
		if (s->needed && column->valued)
			c->n_codes += s->n;
		if (s->of)
			s->of->needed |= s->needed;
	}
}

/* What an earlier plan wanted. */
static void forget_plan(struct chunk *c)
{
	c->n_scratch = c->n_codes = 0;
	for (size_t i = 0; i < c->n_members; i++) {
		c->members[i].subject = NULL;
		c->members[i].wanted = 0;
	}
	for (size_t k = 0; k < ENTITY_KIND_END; k++)
		for (size_t i = 0; i < c->kinds[k].n_columns; i++) {
			struct chunk_column *column = &c->kinds[k].columns[i];

			column->needed = column->wanted = column->valued = false;
			for (size_t j = 0; j < column->n_series; j++) {
				column->series[j].needed = false;
				column->series[j].codes = NULL;
			}
		}
}

int chunk_plan(struct chunk *c, struct dataset *into, const struct load_filter *filter)
{
	struct reader in = c->subjects;
	int r;

	c->into = into;
	forget_plan(c);
	r = plan_ticks(c);
	for (size_t i = 0; r == 0 && i < c->n_members; i++)
		r = plan_member(c, &c->members[i], &in, filter);
	for (enum entity_kind kind = ENTITY_PROCESS; kind < ENTITY_KIND_END; kind++)
		for (size_t i = c->kinds[kind].n_columns; r == 0 && i-- > 0;)
			plan_column(c, &c->kinds[kind].columns[i]);
	return r == 0 ? plan_notes(c) : r;
}

/* --- decoding --- */

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
		s->ticks = target(c, column, s)->tick + s->at;
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
		int64_t *into = s->wanted ? target(c, column, s)->value + s->at : NULL;

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

void chunk_take_back(struct chunk *c)
{
	for (enum entity_kind kind = ENTITY_PROCESS; kind < ENTITY_KIND_END; kind++)
		for (size_t i = 0; i < c->kinds[kind].n_columns; i++)
			for (size_t k = 0; k < c->kinds[kind].columns[i].n_series; k++) {
				const struct column_series *s = &c->kinds[kind].columns[i].series[k];

				if (s->wanted)
					series_remove(target(c, &c->kinds[kind].columns[i], s), s->at, s->n);
			}
}
