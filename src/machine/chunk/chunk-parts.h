/* A chunk that is being read: what its directory says (chunk-open.c), what is wanted of it (chunk-plan.c), and where that is
 * put (chunk-decode.c). */
#pragma once

#include "lib/data/str.h"
#include "machine/chunk/precision.h"
#include "machine/model/dataset.h"

/* A feature of the chunk's vocabulary. */
struct word {
	int feature;			/* in this program's table; -1 = unknown here */
	int64_t numerator, denominator; /* quanta of the chunk in quanta of the table */
};

struct member {
	enum entity_kind kind;
	struct subject *subject; /* NULL = not wanted */
	feature_set wanted;	 /* features of the chunk's vocabulary */
	uint32_t n_active;
	uint32_t *active; /* in the kind's room */
};

struct column_series {
	uint32_t member, n;
	uint16_t base;
	bool exact, needed, wanted;
	bool whole; /* in all ticks of its base; n is known when that is */
	bool point; /* reading of values may begin here */
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
	struct reader points;	 /* of its values */
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
	struct memory_budget *budget; /* of its directory; NULL = no bound */
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

static inline struct reader chunk_take_part(struct reader *in)
{
	size_t n;
	const char *bytes = str_read_blob(in, &n);

	/* of a part that is cut off there is neither */
	return (struct reader){(const uint8_t *)bytes, n ? (const uint8_t *)bytes + n : (const uint8_t *)bytes, false};
}

/* The chunk's features of which the table's are wanted. */
feature_set chunk_wanted_words(const struct kind_part *part, feature_set features);

/* Where a series that is wanted goes. */
static inline struct series *chunk_target(const struct chunk *c, const struct chunk_column *column, const struct column_series *s)
{
	return &c->members[s->member].subject->series[c->kinds[column->kind].words[column->feature].feature];
}

/* The series from `begin` on until another one at which reading may begin. */
static inline size_t chunk_block_end(const struct chunk_column *column, size_t begin)
{
	size_t end = begin + 1;

	while (end < column->n_series && !column->series[end].point)
		end++;
	return end;
}

/* Covers them, until the last that is needed; `begin` if none is: behind it nothing has to be read. */
static inline size_t chunk_needed_until(const struct chunk_column *column, size_t begin, size_t end)
{
	while (end > begin && !column->series[end - 1].needed)
		end--;
	return end;
}
