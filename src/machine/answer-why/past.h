/* The time before what is read tick by tick: the store's hourly summaries, by program and feature. */
#pragma once

#include "lib/data/hmap.h"
#include "lib/data/vec.h"
#include "machine/answer-why/marked-times.h"
#include "machine/judge/older.h"
#include "machine/recording/store.h"

struct past {
	struct hmap histories; /* (hash of the program, kind and feature) -> struct history */
	VEC(struct past_hour) hours;
	VEC(double) most; /* ticks of the most complete feature, of each program in each hour */
	uint64_t last[3]; /* hour, program, kind of the row before */
	struct marked_times marked;
	int64_t from; /* wall ns of the first hour; 0 = none */
};

/* Hours that overlap [from, to]; those in which a mark lies are left out. 0 or as store_summaries(). */
int past_read(struct past *p, struct store *s, int64_t from, int64_t to, const struct mark *marks,
	      size_t n_marks);
void past_free(struct past *p);
/* Oldest first; NULL without any. */
const struct older_stretch *past_find(const struct past *p, enum entity_kind kind, const char *program,
				size_t feature, size_t *ret_n);
