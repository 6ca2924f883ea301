#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "lib/data/cleanup.h"
#include "machine/chunk/chunk-layout.h"
#include "machine/chunk/chunk-parts.h"
#include "machine/chunk/chunk.h"

#define CRC_SIZE sizeof(uint32_t)

/* Zeroed; NULL without memory or beyond the budget. */
static void *take(struct chunk *c, size_t n, size_t size)
{
	return memory_budget_take(c->budget, n, size) < 0 ? NULL : calloc(n + 1, size);
}

static int read_word(struct reader *in, enum entity_kind kind, struct word *ret)
{
	size_t n, n_features;
	const char *name = str_read_blob(in, &n);
	const struct feature *features = features_of(kind, &n_features);
	int64_t quantum = (int64_t)reader_varint(in);

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
	uint64_t mark = reader_varint(&peek);

	if (mark < CHUNK_MARK)
		return 0; /* the vocabulary's */
	*in = peek;
	c->version = (unsigned)(mark - CHUNK_MARK);
	return c->version <= CHUNK_VERSION ? 0 : -EBADMSG;
}

static int read_vocabulary(struct chunk *c, struct reader *in)
{
	for (enum entity_kind kind = ENTITY_PROCESS; kind < ENTITY_KIND_END; kind++) {
		struct kind_part *part = &c->kinds[kind];

		part->n_words = reader_varint(in);
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
	c->n_ticks = (uint32_t)reader_varint(in);
	c->boot = chunk_take_part(in);
	c->wall = chunk_take_part(in);
	c->span = chunk_take_part(in);
	/* each takes a byte at least: this bounds what a damaged number can ask for */
	return in->bad || c->n_ticks > (size_t)(c->boot.end - c->boot.at) ? -EBADMSG : 0;
}

/* Only where each definition is; what they say is read by the plan. */
static int read_members(struct chunk *c, struct reader *in)
{
	c->n_members = reader_varint(in);
	if (in->bad || c->n_members > (size_t)(in->end - in->at))
		return -EBADMSG;
	c->members = take(c, c->n_members, sizeof(*c->members));
	if (!c->members)
		return -ENOMEM;
	c->subjects = *in;
	for (size_t i = 0; i < c->n_members; i++) {
		struct reader definition = chunk_take_part(in);
		uint64_t id = reader_varint(&definition), kind = reader_varint(&definition);
		uint64_t first = reader_varint(in), ended = reader_varint(in);

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
	for (n = reader_varint(in); n && !in->bad; n--) {
		reader_varint(in);
		reader_svarint(in);
		chunk_take_part(in);
	}
	return in->bad ? -EBADMSG : 0;
}

static int read_series(struct chunk *c, struct chunk_column *column)
{
	struct reader *planes = column->planes;
	uint64_t member = 0;

	column->series = take(c, column->n_series, sizeof(*column->series));
	if (!column->series)
		return -ENOMEM;
	for (size_t i = 0; i < column->n_series; i++) {
		struct column_series *s = &column->series[i];
		uint64_t base, n;

		member += reader_varint(&planes[0]);
		base = reader_varint(&planes[2]);
		s->exact = base & 1;
		s->whole = c->version >= CHUNK_POINTS && base & 2;
		base /= c->version >= CHUNK_POINTS ? 4 : 2;
		n = s->whole ? 0 : reader_varint(&planes[1]);
		if (!s->exact)
			s->rest = reader_svarint(&planes[3]);
		if (planes[0].bad || planes[1].bad || planes[2].bad || planes[3].bad ||
		    member >= c->n_members || c->members[member].kind != column->kind || n > c->n_ticks || base > c->kinds[column->kind].n_words)
			return -EBADMSG;
		s->member = (uint32_t)member++;
		s->n = (uint32_t)n;
		s->base = (uint16_t)base;
	}
	return 0;
}

/* Where its parts lie; what they say is read of those that may be wanted. */
static int read_column(struct chunk *c, enum entity_kind kind, struct chunk_column *column, struct reader *in)
{
	column->kind = kind;
	column->feature = (uint32_t)reader_varint(in);
	column->n_series = reader_varint(in);
	column->n_values = reader_varint(in);
	if (c->version >= CHUNK_PARTNERS) {
		column->partner_feature = (uint32_t)reader_varint(in);
		column->ratio = (int32_t)reader_svarint(in);
	}
	for (size_t i = 0; i < ARRAY_SIZE(column->planes); i++)
		column->planes[i] = chunk_take_part(in);
	column->gap_tables = chunk_take_part(in);
	column->value_tables = chunk_take_part(in);
	if (c->version >= CHUNK_POINTS)
		column->points = chunk_take_part(in);
	column->gap_bytes = chunk_take_part(&c->streams);
	column->value_bytes = chunk_take_part(&c->streams);
	if (in->bad || c->streams.bad || column->feature >= c->kinds[kind].n_words ||
	    column->n_series > c->n_members || column->partner_feature > c->kinds[kind].n_words ||
	    column->ratio > SCALE_MAX || column->ratio < -SCALE_MAX)
		return -EBADMSG;
	return 0;
}

static int read_activities(struct chunk *c, enum entity_kind kind, struct reader *in)
{
	struct reader counts = chunk_take_part(in);

	c->kinds[kind].tables = chunk_take_part(in);
	c->kinds[kind].bytes = chunk_take_part(&c->streams);
	for (size_t i = 0; i < c->n_members; i++) {
		if (c->members[i].kind != kind)
			continue;
		c->members[i].n_active = (uint32_t)reader_varint(&counts);
		if (counts.bad || c->members[i].n_active > c->n_ticks)
			return -EBADMSG;
	}
	return in->bad || c->streams.bad ? -EBADMSG : 0;
}

feature_set chunk_wanted_words(const struct kind_part *part, feature_set features)
{
	feature_set wanted = 0;

	for (size_t f = 0; f < part->n_words; f++)
		if (part->words[f].feature >= 0 && features >> part->words[f].feature & 1)
			wanted |= FEATURE_BIT(f);
	return wanted;
}

/* The base of each series of a column: both columns ascend by member, so one walk finds all of one column. */
static int find_bases(struct chunk *c, struct kind_part *part, struct chunk_column *column)
{
	const struct chunk_column *of[FEATURES_MAX + 1] = {};
	size_t next[FEATURES_MAX + 1] = {};

	for (const struct chunk_column *before = part->columns; before < column; before++)
		of[1 + before->feature] = before;
	for (size_t i = 0; i < column->n_series; i++) {
		struct column_series *s = &column->series[i];
		size_t *at = &next[s->base];
		uint32_t n_base = c->members[s->member].n_active;

		if (s->base != BASE_ACTIVITY) {
			if (!of[s->base])
				return -EBADMSG;
			while (*at < of[s->base]->n_series && of[s->base]->series[*at].member < s->member)
				++*at;
			if (*at == of[s->base]->n_series || of[s->base]->series[*at].member != s->member)
				return -EBADMSG;
			s->of = &of[s->base]->series[*at];
			n_base = s->of->n;
		}
		if (s->whole)
			s->n = n_base;
		if (s->n > n_base)
			return -EBADMSG;
	}
	return 0;
}

/* Now that it is known how long the series are: do they make up the column, and at which may reading begin? */
static int check_lengths(struct chunk_column *column)
{
	bool points = column->points.at < column->points.end;
	uint64_t total = 0, since = 0;

	for (size_t i = 0; i < column->n_series; i++) {
		struct column_series *s = &column->series[i];

		if (!s->n)
			return -EBADMSG;
		s->point = points && since >= POINT_EVERY;
		since = (s->point ? 0 : since) + s->n;
		total += s->n;
	}
	return total == column->n_values ? 0 : -EBADMSG;
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
static int read_columns(struct chunk *c, enum entity_kind kind, feature_set features)
{
	struct kind_part *part = &c->kinds[kind];
	feature_set words = chunk_wanted_words(part, features), bases = 0;
	int r = 0;

	for (size_t i = part->n_columns; r == 0 && i-- > 0;) {
		struct chunk_column *column = &part->columns[i];

		column->read = features == FEATURES_ALL || (words | bases) >> column->feature & 1;
		if (!column->read) {
			column->n_series = column->n_values = 0;
			continue;
		}
		r = read_series(c, column);
		if (column->partner_feature)
			bases |= FEATURE_BIT(column->partner_feature - 1);
		for (size_t k = 0; r == 0 && k < column->n_series; k++)
			if (column->series[k].base != BASE_ACTIVITY)
				bases |= FEATURE_BIT(column->series[k].base - 1);
	}
	for (size_t i = 0; r == 0 && i < part->n_columns; i++)
		r = find_bases(c, part, &part->columns[i]);
	for (size_t i = 0; r == 0 && i < part->n_columns; i++)
		r = check_lengths(&part->columns[i]);
	for (size_t i = 0; r == 0 && i < part->n_columns; i++)
		r = find_partners(part, &part->columns[i]);
	return r;
}

static int read_kind(struct chunk *c, enum entity_kind kind, feature_set features, struct reader *in)
{
	struct kind_part *part = &c->kinds[kind];
	uint64_t n = reader_varint(in);
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

static int read_directory(struct chunk *c, const feature_set *features)
{
	struct reader in = {(const uint8_t *)c->meta, (const uint8_t *)c->meta + c->n_meta, false};
	int r = read_version(c, &in);

	r = r ?: read_vocabulary(c, &in);

	r = r ?: read_ticks(c, &in);
	r = r ?: read_members(c, &in);
	r = r ?: skip_notes(c, &in);
	for (enum entity_kind kind = ENTITY_PROCESS; r == 0 && c->whole && kind < ENTITY_KIND_END; kind++)
		r = read_kind(c, kind, features ? features[kind] : FEATURES_ALL, &in);
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
	c->n_meta = reader_varint(&in);
	packed = str_read_blob(&in, &n_packed);
	if (in.bad || c->n_meta > META_MAX)
		return -EBADMSG;
	c->meta = memory_budget_take(c->budget, c->n_meta, 1) < 0 ? NULL : malloc(c->n_meta + 1);
	if (!c->meta)
		return -ENOMEM;
	if (ZSTD_decompress(c->meta, c->n_meta, packed, n_packed) != c->n_meta)
		return -EBADMSG;
	c->streams = in;
	return 0;
}

static int open_part(const void *bytes, size_t n, bool whole, const feature_set *features, struct memory_budget *budget, struct chunk **ret)
{
	struct chunk *c = calloc(1, sizeof(*c));
	int r = -ENOMEM;

	if (c) {
		c->whole = whole;
		c->budget = budget;
		r = unpack(c, bytes, n);
	}
	r = r ?: read_directory(c, features);
	if (r < 0) {
		chunk_close(c);
		return r;
	}
	if (whole)
		scale_fill(&c->scale);
	*ret = c;
	return 0;
}

int chunk_open(const void *bytes, size_t n, const feature_set *features, struct memory_budget *budget, struct chunk **ret)
{
	return open_part(bytes, n, true, features, budget, ret);
}

int chunk_open_head(const void *bytes, size_t n, struct memory_budget *budget, struct chunk **ret)
{
	return open_part(bytes, n, false, NULL, budget, ret);
}

size_t chunk_head_size(const void *bytes, size_t n)
{
	struct reader in = {(const uint8_t *)bytes + CRC_SIZE, (const uint8_t *)bytes + n, false};
	uint64_t packed;

	(void)reader_varint(&in);
	packed = reader_varint(&in);
	return n < CRC_SIZE || in.bad || packed > META_MAX ? 0 : (size_t)(in.at - (const uint8_t *)bytes) + packed;
}

void chunk_close(struct chunk *c)
{
	if (!c)
		return;
	for (size_t k = 0; k < ENTITY_KIND_END; k++) {
		for (size_t i = 0; i < c->kinds[k].n_columns; i++)
			free(c->kinds[k].columns[i].series);
		FREE_ALL(c->kinds[k].columns, c->kinds[k].room, c->kinds[k].words);
	}
	FREE_ALL(c->members, c->meta, c);
}
