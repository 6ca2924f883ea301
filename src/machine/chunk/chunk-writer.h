/* A chunk that is being written: who changed what in which ticks, and by how much, rounded (chunk-activity.c), which column
 * stands next to which, and all of it as bytes (chunk-write.c). */
#pragma once

#include "lib/data/str.h"
#include "machine/chunk/chunk-layout.h"
#include "machine/chunk/entropy.h"
#include "machine/chunk/precision.h"
#include "machine/chunk/predictor.h"
#include "machine/model/dataset.h"

/* A series of growths, rounded. */
struct rounded {
	uint16_t *codes; /* NULL = it has to be kept exactly */
	int64_t rest;
};

/* One entity's series as sets of ticks, and rounded. */
struct activity {
	uint64_t *words; /* n_features + 1 bitmaps of n_words each, from the tick first_word * 64 on; the last is the union */
	size_t first_word, n_words; /* as far as it was active: most entities of a storm live for a tick */
	uint32_t *ticks; /* the union */
	size_t n;
	uint8_t base[FEATURES_MAX];
	struct rounded *rounded; /* of each feature */
};

struct chunk_writer {
	const struct dataset *d;
	struct scale scale;
	struct activity *activities; /* one a subject */
	struct str meta, streams;
	struct entropy_writer gaps, values;
	VEC(uint32_t) places; /* of the series being written: indices into its base */
};

struct written_column {
	size_t feature, n_series, n_values;
	bool first;    /* read first: it stands before all that are not, and so depends on none of them */
	int partner;   /* feature of a column before it; -1 = none */
	int32_t ratio; /* normal difference of levels */
	unsigned depth; /* partners behind it */
};

/* Fills what `a` says of a subject but its bases. 0 or -ENOMEM; activity_free() either way. */
int activity_of(const struct chunk_writer *w, const struct subject *s, struct activity *a);
void activity_free(struct activity *a, size_t n_features);

/* The base of a subject's series in columns[rank]: the closest superset among those written before. Where two features change
 * together, the second costs nothing. */
void chunk_choose_base(const struct subject *s, struct activity *a, const struct written_column *columns,
		       size_t rank);

static inline struct partner chunk_partner(const struct chunk_writer *w, size_t subject, int feature)
{
	const struct subject *s = w->d->subjects.v[subject];
	const struct rounded *r = feature < 0 ? NULL : &w->activities[subject].rounded[feature];

	return !r || !r->codes ? (struct partner){} : (struct partner){s->series[feature].tick, r->codes, s->series[feature].n, 0};
}
